package limits

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
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
	return []load{{"hot", plenty, 1}, {"refused", bucket{1, 1}, 1}, {"many", plenty, 20_000}}
}

// library is one that is measured.
type library struct {
	name string
	open func(*testing.B, bucket) take
}

// measure asks libraries in turn, with one caller and with 64.
func measure(b *testing.B, libraries ...library) {
	for _, l := range loads() {
		keys := make([]string, l.keys)
		for i := range keys {
			keys[i] = fmt.Sprintf("user-%08d", i)
		}
		for _, callers := range []int{1, 64} {
			for _, lib := range libraries {
				b.Run(fmt.Sprintf("%s/callers=%d/%s", l.name, callers, lib.name), func(b *testing.B) {
					ask(b, lib.open(b, l.bucket), keys, callers, l.name != "refused")
				})
			}
		}
	}
}

// warm lets all keys be known before it counts.
func warm(b *testing.B, take take, keys []string) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				if _, err := take(keys[i]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func ask(b *testing.B, take take, keys []string, callers int, plenty bool) {
	warm(b, take, keys)
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
