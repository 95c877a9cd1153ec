package limits

import (
	"runtime"
	"strconv"
	"testing"
)

// many is how many keys are known when their memory is measured.
const many = 1_000_000

// bytes measures what the memory of a key costs, with the key of 13 bytes.
func bytes(b *testing.B, open func(*testing.B, bucket) take) {
	for range b.N {
		before := heap()
		take := open(b, bucket{1, 1e9})
		for i := range many {
			for range 10 { // or the bucket is full again before the last key comes
				if _, err := take("user-" + strconv.Itoa(10_000_000+i)); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(heap()-before)/many, "bytes/key")
		runtime.KeepAlive(take)
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools held is gone only now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
