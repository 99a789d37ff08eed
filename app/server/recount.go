package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
)

// recounts show what the scan of this node has found about holds that do not fit.
func recounts(r *app.Reconciler) []prometheus.Collector {
	return []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "stampede", Name: "sales_mismatched",
			Help: "Sales whose holds in Redis and rows do not agree, as this node has found: people have to look.",
		}, func() float64 { return float64(r.Mismatched()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "stampede", Name: "sale_counts_corrected_total",
			Help: "How often this node has set the counters of a sale to the sums of its holds; each time there was a defect before.",
		}, func() float64 { return float64(r.Corrected()) }),
	}
}
