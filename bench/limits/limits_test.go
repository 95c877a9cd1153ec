package limits

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// bucket is what all hold: so many units a second, and as many at once.
type bucket struct{ rate, burst int }

// take is one decision of a library.
type take func(key string) (granted bool, err error)

// load is what a library is asked.
type load struct {
	name   string
	bucket bucket
	keys   int
}

func loads() []load {
	plenty := bucket{1, 1e9} // which does not become full meanwhile, and be forgotten
	return []load{{"hot", plenty, 1}, {"refused", bucket{1, 1}, 1}, {"many", plenty, 100_000}}
}

// measure asks a library, with one caller and with 64.
func measure(b *testing.B, name string, open func(*testing.B, bucket) take) {
	for _, l := range loads() {
		keys := make([]string, l.keys)
		for i := range keys {
			keys[i] = fmt.Sprintf("user-%08d", i)
		}
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%s/callers=%d", name, l.name, callers), func(b *testing.B) {
				ask(b, open(b, l.bucket), keys, callers, l.name != "refused")
			})
		}
	}
}

func ask(b *testing.B, take take, keys []string, callers int, plenty bool) {
	for _, key := range keys { // all are known before it counts
		if _, err := take(key); err != nil {
			b.Fatal(err)
		}
	}
	procs := runtime.GOMAXPROCS(0)
	if callers == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		procs = 1
	}
	b.SetParallelism(max(1, callers/procs))
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(keys)); pb.Next(); i++ {
			granted, err := take(keys[i%len(keys)])
			if err != nil || plenty && !granted {
				b.Errorf("granted %v, %v", granted, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}
