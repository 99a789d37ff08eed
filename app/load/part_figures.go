package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// combine says how a figure of a whole crowd follows from those of two parts. What is not in the list is a processor
// time (below), or follows from others (derive).
var combine = map[string]func(a, b float64) float64{
	"unsent":             plus,
	"repeated_busy":      plus,
	"waiting":            plus,
	"stalled":            plus,
	"heard_before_drop":  plus,
	"heard_by_hello":     plus,
	"turned_away_busy":   plus,
	"all_back_s":         func(a, b float64) float64 { return max(a, b) },
	"resident_before_mb": func(a, b float64) float64 { return min(a, b) }, // before anybody came
	"resident_after_mb":  func(a, b float64) float64 { return max(a, b) }, // with everybody there
}

func plus(a, b float64) float64 { return a + b }

// derived are those that follow from others.
var derived = []string{"kb_per_socket", "ticks_per_second", "time_p50_ms", "time_p99_ms", "p99_ratio"}

// mergeFigures fills in the figures of two parts, of so many processes each.
func (r *Result) mergeFigures(a, b *Result, ofA, ofB int) error {
	names := slices.Sorted(maps.Keys(a.Figures))
	for name := range b.Figures {
		if _, both := a.Figures[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		of, known := combine[name]
		va, inA := a.Figures[name]
		vb, inB := b.Figures[name]
		process, isCPU := cutCPU(name)
		switch {
		case known && (inA && inB || name != "all_back_s" && !strings.HasPrefix(name, "resident_")):
			r.figure(name, of(va, vb)) // a count that one part lacks is none there
		case known || slices.Contains(derived, name):
		case !isCPU:
			return fmt.Errorf("figure %s cannot be merged: it is of another version", name)
		case inA && inB && r.Ops > 0:
			spent := va*float64(a.Ops) + vb*float64(b.Ops)
			if process != generatorName {
				// Every process saw all of what the server spent, also for the shoppers of the others.
				spent = (va*float64(a.Ops)*float64(ofA) + vb*float64(b.Ops)*float64(ofB)) / float64(ofA+ofB)
			}
			r.figure(name, spent/float64(r.Ops))
		}
	}
	r.derive()
	return nil
}

// cutCPU is the process whose time per op or frame that is.
func cutCPU(name string) (process string, is bool) {
	process, _, is = strings.Cut(name, "_cpu_us_per_")
	return process, is
}

// derive fills in the figures that follow from others, as the scenario itself does.
func (r *Result) derive() {
	if after, known := r.Figures["resident_after_mb"]; known {
		r.figure("kb_per_socket", (after-r.Figures["resident_before_mb"])*1024/float64(r.Sockets))
	}
	if stalled, known := r.Figures["stalled"]; known && r.Sockets > int(stalled) {
		r.figure("ticks_per_second", r.PerSec/(float64(r.Sockets)-stalled))
	}
	if of := r.beside.latency(); of != nil && r.Latency != nil {
		r.figure("time_p50_ms", of.P50)
		r.figure("time_p99_ms", of.P99)
		if of.P99 > 0 {
			r.figure("p99_ratio", r.Latency.P99/of.P99)
		}
	}
}
