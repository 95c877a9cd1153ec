package limits

import (
	"sync"
	"testing"
	"time"

	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"golang.org/x/time/rate"

	"rushgate/limit"
)

func BenchmarkMemory(b *testing.B) {
	measure(b, library{"ours", memory}, library{"xtime", xtime}, library{"throttled", throttle})
}

func memory(b *testing.B, of bucket) take {
	m, err := limit.NewMemory(limit.GCRA(limit.Per(int64(of.rate), time.Second), int64(of.burst)), limit.MemoryOptions{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	return func(key string) (bool, error) {
		r, err := m.Take(ctx, key, 1)
		return r.Granted, err
	}
}

// xtime is the way of nearly every tutorial: a limiter for each key in a map.
func xtime(_ *testing.B, of bucket) take {
	var mu sync.RWMutex
	limiters := map[string]*rate.Limiter{}
	return func(key string) (bool, error) {
		mu.RLock()
		l := limiters[key]
		mu.RUnlock()
		if l == nil {
			mu.Lock()
			if l = limiters[key]; l == nil {
				l = rate.NewLimiter(rate.Limit(of.rate), of.burst)
				limiters[key] = l
			}
			mu.Unlock()
		}
		return l.Allow(), nil
	}
}

func throttle(b *testing.B, of bucket) take {
	store, err := memstore.NewCtx(1 << 20)
	if err != nil {
		b.Fatal(err)
	}
	l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(of.rate, time.Second), MaxBurst: of.burst - 1})
	if err != nil {
		b.Fatal(err)
	}
	l.SetMaxCASAttemptsLimit(1 << 20)
	ctx := b.Context()
	return func(key string) (bool, error) {
		limited, _, err := l.RateLimitCtx(ctx, key, 1)
		return !limited, err
	}
}

// BenchmarkBytes measures what a key costs.
func BenchmarkBytes(b *testing.B) {
	for name, open := range map[string]func(*testing.B, bucket) take{"ours": memory, "xtime": xtime, "throttled": throttle} {
		b.Run(name, func(b *testing.B) { bytes(b, open) })
	}
}
