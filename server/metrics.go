package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"rushgate"
)

// Metrics counts what happens, for Prometheus, in a registry of its own. It is
// the rushgate.Observer of the Service that a Server serves, so it is made
// before both. What a claim touches is found without a lookup.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler

	decided  map[rushgate.Code]*atomic.Int64 // never changed after NewMetrics
	other    atomic.Int64
	tickets  prometheus.Histogram
	asks     prometheus.Histogram
	deciding prometheus.Histogram
	record   prometheus.Histogram
	swept    prometheus.Counter

	audits      *prometheus.CounterVec
	lastAuditOK *prometheus.GaugeVec
	healed      prometheus.Counter

	mended           *prometheus.CounterVec
	adopted, revoked prometheus.Counter
	incidents        *prometheus.CounterVec

	connections atomic.Int64
	unrouted    *routeStats
	mu          sync.Mutex
	routes      []*routeStats
}

// NewMetrics returns metrics that have seen nothing yet.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), decided: map[rushgate.Code]*atomic.Int64{}}
	for _, code := range []rushgate.Code{rushgate.Granted, rushgate.Replayed, rushgate.SoldOut, rushgate.LimitReached,
		rushgate.NotOpen, rushgate.Closed, rushgate.Frozen, rushgate.KeyReused, rushgate.Overloaded, rushgate.Unavailable} {
		m.decided[code] = &atomic.Int64{}
	}
	m.desk()
	m.auditor()
	m.node()
	m.unrouted = m.route("other")
	m.registry.MustRegister(m.swept, claimCollector{m}, requestCollector{m},
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "rushgate_connections_open", Help: "Open connections of the public listener."},
			func() float64 { return float64(m.connections.Load()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	return m
}

func (m *Metrics) desk() {
	sizes := prometheus.ExponentialBuckets(1, 2, 13)       // 1 to 4096
	times := prometheus.ExponentialBuckets(0.00005, 2, 16) // 50 µs to 1.6 s
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
		m.registry.MustRegister(h)
		return h
	}
	m.tickets = histogram("rushgate_batch_tickets", "Requests of all kinds that the desk took at once.", sizes)
	m.asks = histogram("rushgate_batch_asks", "Claims that the desk took at once.", sizes)
	m.deciding = histogram("rushgate_gate_seconds", "Time in which the gate decided a batch.", times)
	m.record = histogram("rushgate_record_seconds", "Time in which the ledger recorded a batch.", times)
	m.swept = prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_claims_expired_total", Help: "Claims whose hold ended."})
}

func (m *Metrics) auditor() {
	m.audits = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rushgate_audits_total", Help: "Audits of a sale, by result; one that could not be made has failed."}, []string{"result"})
	m.lastAuditOK = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rushgate_audit_ok", Help: "1 if the last audit of the sale found every invariant to hold."}, []string{"sale"})
	m.healed = prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_audit_healed_units_total", Help: "Stranded units that the auditor gave back."})
	m.registry.MustRegister(m.audits, m.lastAuditOK, m.healed)
	for _, result := range []string{"ok", "failed"} {
		m.audits.WithLabelValues(result)
	}
}

// Registry returns the registry, for more metrics.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Decided implements rushgate.Observer.
func (m *Metrics) Decided(code rushgate.Code, n int) {
	if c := m.decided[code]; c != nil {
		c.Add(int64(n))
		return
	}
	m.other.Add(int64(n))
}

// Served implements rushgate.Observer.
func (m *Metrics) Served(b rushgate.BatchStats) {
	m.tickets.Observe(float64(b.Tickets))
	m.asks.Observe(float64(b.Asks))
	m.deciding.Observe(b.Deciding.Seconds())
	m.record.Observe(b.Recording.Seconds())
}

// Swept implements rushgate.Observer.
func (m *Metrics) Swept(n int) { m.swept.Add(float64(n)) }

// Audited implements rushgate.Observer.
func (m *Metrics) Audited(r *rushgate.Report) {
	result, ok := "ok", 1.0
	if !r.OK {
		result, ok = "failed", 0
	}
	m.audits.WithLabelValues(result).Inc()
	m.lastAuditOK.WithLabelValues(r.Sale).Set(ok)
	m.healed.Add(float64(r.Healed))
}

// unaudited counts an audit that could not be made.
func (m *Metrics) unaudited() { m.audits.WithLabelValues("failed").Inc() }

// expose answers GET /metrics.
func (s *Server) expose(c *call) (int, error) {
	s.metrics.handler.ServeHTTP(c.w, c.r)
	return http.StatusOK, nil
}

// claimCollector shows the outcomes of claims.
type claimCollector struct{ m *Metrics }

// Describe implements prometheus.Collector: unchecked, as its labels are made at the scrape.
func (claimCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c claimCollector) Collect(out chan<- prometheus.Metric) {
	desc := prometheus.NewDesc("rushgate_claims_total", "Claims decided, by outcome.", []string{"outcome"}, nil)
	for code, n := range c.m.decided {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n.Load()), string(code))
	}
	out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(c.m.other.Load()), "other")
}
