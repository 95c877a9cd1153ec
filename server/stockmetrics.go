package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rushgate"
)

// maxStockSales bounds the sales whose stock is shown in the metrics: each one
// is a short stop of the desk, and a series per item and state.
const (
	maxStockSales   = 20
	maxStockItems   = 1_000
	stockScrapeTime = 2 * time.Second
)

// watch adds what is only known while a service runs. attached returns the one
// that does, or nil.
func (m *Metrics) watch(attached func() *rushgate.Service) {
	queue := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "rushgate_queue_claims", Help: "Claims that wait at the desk."},
		func() float64 {
			s := attached()
			if s == nil {
				return 0
			}
			claims, _ := s.Waiting()
			return float64(claims)
		})
	// A server that is made anew over the same metrics keeps the first one's.
	_ = m.registry.Register(queue)
	_ = m.registry.Register(stockCollector{attached: attached,
		stock:  prometheus.NewDesc("rushgate_stock_units", "Units by state, of the sales that are not closed.", []string{"sale", "item", "state"}, nil),
		hidden: prometheus.NewDesc("rushgate_stock_sales_hidden", "Sales whose stock is not shown: closed, over the bound, or the scrape had no more time.", nil, nil)})
}

// stockCollector asks the service at the scrape.
type stockCollector struct {
	attached      func() *rushgate.Service
	stock, hidden *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c stockCollector) Describe(out chan<- *prometheus.Desc) { out <- c.stock; out <- c.hidden }

// Collect implements prometheus.Collector.
func (c stockCollector) Collect(out chan<- prometheus.Metric) {
	service := c.attached()
	if service == nil {
		return // a standby has no stock
	}
	ctx, cancel := context.WithTimeout(context.Background(), stockScrapeTime)
	defer cancel()
	sales, err := service.Sales(ctx)
	if err != nil {
		return // readiness says it louder
	}
	hidden, shown, items := 0, 0, 0
	for i := range sales {
		items += len(sales[i].Items)
		if sales[i].State == rushgate.SaleClosed || shown == maxStockSales || items > maxStockItems || !collectStock(ctx, service, c.stock, sales[i].ID, out) {
			hidden++
			continue
		}
		shown++
	}
	out <- prometheus.MustNewConstMetric(c.hidden, prometheus.GaugeValue, float64(hidden))
}

func collectStock(ctx context.Context, s *rushgate.Service, desc *prometheus.Desc, sale string, out chan<- prometheus.Metric) bool {
	stock, _, err := s.Stock(ctx, sale)
	if err != nil {
		return false
	}
	for _, it := range stock {
		for state, units := range map[string]int64{"free": it.Free, "held": it.Held, "confirmed": it.Confirmed, "unsettled": it.Unsettled} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(units), sale, it.Item, state)
		}
	}
	return true
}
