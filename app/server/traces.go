package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/trace"
	"stampede/app/trace/export"
)

// tracer samples buys, when a collector is named; nil: none is traced. composeTraces says where to.
func (c *Config) tracer() *trace.Tracer {
	if c.OTLPEndpoint == "" {
		return nil
	}
	return &trace.Tracer{Ratio: c.TraceRatio}
}

// composeTraces sends what is traced to the collector.
func (p *parts) composeTraces(c *Config, version string, registry *prometheus.Registry) error {
	counter(registry, "stampede_trace_spans_lost_total",
		"Spans of traced buys that no collector has: it was slow or away, or there is too much of them.", func() int64 {
			if p.traces == nil {
				return 0
			}
			return p.traces.Lost()
		})
	if p.tracer == nil {
		return nil
	}
	traces, err := export.New(c.OTLPEndpoint, export.Node{Name: nodeName(p.lease), Version: version})
	if err != nil {
		return err
	}
	p.traces, p.tracer.To = traces, traces
	return nil
}
