package server

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// routeStats counts the requests of one route, by status, and how long they
// took. It costs a request five additions.
type routeStats struct {
	name    string
	status  [600 - 100]atomic.Uint64       // by status, from 100
	buckets [timeBuckets + 1]atomic.Uint64 // the last one: longer than any bound
	nanos   atomic.Int64
}

// The upper bounds of the histogram of durations: 50 µs, and ten in all, each
// four times the one before, so that finding the bucket is a few comparisons.
const (
	firstBucket = 50 * time.Microsecond
	timeBuckets = 10
)

// count counts one request.
func (r *routeStats) count(status int, took time.Duration) {
	if status >= 100 && status < 600 {
		r.status[status-100].Add(1)
	}
	bucket, bound := 0, firstBucket
	for took > bound && bucket < timeBuckets {
		bucket, bound = bucket+1, bound*4
	}
	r.buckets[bucket].Add(1)
	r.nanos.Add(int64(took))
}

// route returns the counters of a route, by its name in the metrics.
func (m *Metrics) route(name string) *routeStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.routes {
		if r.name == name {
			return r
		}
	}
	r := &routeStats{name: name}
	m.routes = append(m.routes, r)
	return r
}

// requestCollector shows the requests of all routes that had any.
type requestCollector struct{ m *Metrics }

// Describe implements prometheus.Collector: unchecked, as its labels are made at the scrape.
func (requestCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c requestCollector) Collect(out chan<- prometheus.Metric) {
	requests := prometheus.NewDesc("rushgate_http_requests_total", "Requests answered, by route and status.", []string{"route", "status"}, nil)
	duration := prometheus.NewDesc("rushgate_http_request_seconds", "Time from reading a request to its answer.", []string{"route"}, nil)
	c.m.mu.Lock()
	routes := c.m.routes[:len(c.m.routes):len(c.m.routes)]
	c.m.mu.Unlock()
	for _, r := range routes {
		for i := range r.status {
			if n := r.status[i].Load(); n > 0 {
				out <- prometheus.MustNewConstMetric(requests, prometheus.CounterValue, float64(n), r.name, strconv.Itoa(100+i))
			}
		}
		if count, buckets := r.cumulated(); count > 0 {
			out <- prometheus.MustNewConstHistogram(duration, count, time.Duration(r.nanos.Load()).Seconds(), buckets, r.name)
		}
	}
}

// cumulated returns the histogram as Prometheus counts: each bucket with all below it.
func (r *routeStats) cumulated() (count uint64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, timeBuckets)
	bound := firstBucket
	for i := range r.buckets {
		count += r.buckets[i].Load()
		if i < timeBuckets {
			buckets[bound.Seconds()] = count
		}
		bound *= 4
	}
	return count, buckets
}
