package main

import (
	"math"
	"slices"

	"stampede/app/load"
)

// figures are the results of a round by name:
//
//	Gate grouped/s             a Go benchmark and its metric
//	chain/chain per_second     a step, its scenario, and a figure of the load generator
//	chain/chain order_p99_ms   … or a latency: p99_ms from the buy to the reply, order_p99_ms to the order event
//	drained_per_second         a figure of the round itself, under its JSON name
type figures map[string]float64

func (r *Round) figures() figures {
	f := figures{
		"drained_per_second": r.DrainedPerSec, "redis_cpu_us_per_order": r.RedisMicrosPerOrder,
		"redis_log_kb_per_order":     r.RedisLogPerOrder,
		"redis_bytes_per_open_order": r.RedisBytesPerOrder,

		"redis_bytes_per_open_order_after_a_jam": r.RedisBytesAfterBacklog,
	}
	for benchmark, metrics := range r.Micro {
		for metric, value := range metrics {
			f[benchmark+" "+metric] = value
		}
	}
	for step, results := range r.Steps {
		for _, result := range results {
			f.add(step+"/"+result.Scenario+" ", &result)
		}
	}
	return f
}

func (f figures) add(prefix string, r *load.Result) {
	f[prefix+"per_second"] = r.PerSec
	for name, value := range r.Figures {
		f[prefix+name] = value
	}
	if r.Latency != nil {
		f[prefix+"p99_ms"] = r.Latency.P99
	}
	if r.Order != nil {
		f[prefix+"order_p99_ms"] = r.Order.P99
	}
}

// get returns the figure with this name; NaN if this round does not have it.
func (f figures) get(name string) float64 {
	if value, ok := f[name]; ok {
		return value
	}
	return math.NaN()
}

// values returns the finite values of the rounds, the smallest first.
func values(rounds []Round, figureOf func(f figures) float64) []float64 {
	var all []float64
	for i := range rounds {
		if v := figureOf(rounds[i].figures()); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// median returns the median of a figure over the rounds; NaN if no round has it.
func median(rounds []Round, name string) float64 {
	return medianOfSorted(values(rounds, func(f figures) float64 { return f.get(name) }))
}

// medianOfSorted returns the median of sorted values; NaN if there are no values.
func medianOfSorted(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
