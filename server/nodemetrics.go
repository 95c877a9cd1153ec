package server

import "github.com/prometheus/client_golang/prometheus"

// node makes the metrics of what a node does because it is not alone.
func (m *Metrics) node() {
	m.mended = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rushgate_gate_rebuilds_total",
		Help: "Times that a shared gate's picture of a sale was built anew from the ledger, because it was lost or in doubt."}, []string{"sale"})
	m.adopted = prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_claims_adopted_total",
		Help: "Claims recorded here that another node granted and did not record."})
	m.revoked = prometheus.NewCounter(prometheus.CounterOpts{Name: "rushgate_claims_revoked_total",
		Help: "Claims that were acknowledged below recorded, and lost by the gate."})
	m.incidents = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "rushgate_gate_incidents_total",
		Help: "What happened at a shared gate that somebody may want to know of, by kind."}, []string{"kind"})
	m.registry.MustRegister(m.mended, m.adopted, m.revoked, m.incidents)
}

// Mended implements rushgate.Observer.
func (m *Metrics) Mended(sale string) { m.mended.WithLabelValues(sale).Inc() }

// Adopted implements rushgate.Observer.
func (m *Metrics) Adopted(n int) { m.adopted.Add(float64(n)) }

// GateIncident counts what a shared gate tells of itself.
func (m *Metrics) GateIncident(kind string, n int) { m.incidents.WithLabelValues(kind).Add(float64(n)) }

// Revoked implements rushgate.Observer.
func (m *Metrics) Revoked(n int) { m.revoked.Add(float64(n)) }
