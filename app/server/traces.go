package server

import (
	"fmt"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/trace"
	"stampede/app/trace/export"
)

// tracer returns the sampler of buys; nil: no collector is configured. composeTraces sets the destination.
func (c *Config) tracer() *trace.Tracer {
	if c.OTLPEndpoint == "" {
		return nil
	}
	return &trace.Tracer{Ratio: c.TraceRatio}
}

// composeTraces exports traces to the collector.
func (p *parts) composeTraces(c *Config, version string, registry *prometheus.Registry) error {
	counter(registry, "stampede_trace_spans_lost_total",
		"Dropped spans of traced buys: the collector was slow or unreachable, or there were too many spans.", func() int64 {
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
	p.traces, p.tracer.Record = traces, traces.Record
	return nil
}

// checkTraces validates the collector and the ratio.
func (c *Config) checkTraces(p *problems) {
	if c.OTLPEndpoint != "" {
		p.check("OTLP_ENDPOINT", checkCollector(c.OTLPEndpoint))
	}
	if !(c.TraceRatio >= 0 && c.TraceRatio <= 1) { // rejects NaN, too
		p.add("TRACE_RATIO", fmt.Sprintf("is %v: want 0 to 1, for example 0.01 for 1 %% of the buys", c.TraceRatio))
	}
}

// checkCollector validates the collector's URL. Its messages never contain the value, which may include a password.
func checkCollector(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "is not the address of a collector: want http:// or https://, a host and a port, like http://127.0.0.1:4318"
	case u.User != nil:
		return "has a user: want an address without one, for example http://127.0.0.1:4318"
	case u.RawQuery != "" || u.Fragment != "":
		return "has more than a path after the host: want an address like http://127.0.0.1:4318"
	}
	return ""
}
