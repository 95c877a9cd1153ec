package trial

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"rushgate/lab"
)

// Speed is how fast a sale went. Grants and refusals are told apart: a fast "no"
// is easy.
type Speed struct {
	Seconds           float64  `json:"seconds"`             // until the last unit was sold
	ClaimsPerSecond   float64  `json:"claims_per_second"`   // granted, while there was stock
	RefusalsPerSecond *float64 `json:"refusals_per_second"` // afterwards; null when nobody was refused then

	// How long those waited who got one, in milliseconds.
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	// Curve is the whole distribution.
	Curve []Point `json:"curve"`

	// Commands that the servers carried out for one request, those inside scripts
	// too, and the round trips that it took; null where no server counts. What
	// is batched over many requests counts for each in part.
	Commands   *float64 `json:"commands_per_claim"`
	RoundTrips *float64 `json:"round_trips_per_claim"`
}

// Point: so many per cent of the requests took at most so long.
type Point struct {
	Percent float64 `json:"percent"`
	Ms      float64 `json:"ms"`
}

// measure computes the speed of a sale of so many units.
func measure(all []heard, total int) Speed {
	until := soldOut(all, total)
	latency := hdrhistogram.New(1, int64(2*MaxDuration/time.Microsecond), 3)
	granted, refused, last := 0, 0, until
	for i := range all {
		h := &all[i]
		if h.answer == lab.Granted && h.end <= until {
			granted++
		}
		if h.answer == lab.Granted {
			_ = latency.RecordValue(max((h.end - h.begin).Microseconds(), 1)) // bounded by the duration of a sale
		}
		if h.begin > until && h.answer != 0 && h.answer != lab.Granted { // who oversells goes on granting
			refused++
			last = max(last, h.end)
		}
	}
	s := Speed{Seconds: until.Seconds(), P50: ms(latency, 50), P99: ms(latency, 99), P999: ms(latency, 99.9)}
	if until > 0 {
		s.ClaimsPerSecond = float64(granted) / until.Seconds()
	}
	if refused > 0 && last > until {
		r := float64(refused) / (last - until).Seconds()
		s.RefusalsPerSecond = &r
	}
	for _, p := range []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100} {
		s.Curve = append(s.Curve, Point{Percent: p, Ms: ms(latency, p)})
	}
	return s
}

func ms(h *hdrhistogram.Histogram, percent float64) float64 {
	return float64(h.ValueAtPercentile(percent)) / 1000
}
