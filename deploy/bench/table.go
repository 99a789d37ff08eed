package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"stampede/app/load"
)

// row is one figure of the table.
type row struct {
	name     string
	unit     string                 // of ours and of the baseline
	ours     func(r *Round) float64 // NaN: this round has none
	baseline func(r *Round) float64 // nil: there is none
	figure   func(r *Round) float64 // what the bar is about, per round; nil: ours
	least    float64                // the bar; 0: none
	most     float64                // the bar; 0: none
	digits   int                    // of the figure
}

func micro(benchmark, metric string) func(r *Round) float64 {
	return func(r *Round) float64 {
		if value, ok := r.Micro[benchmark][metric]; ok {
			return value
		}
		return math.NaN()
	}
}

func found(step, scenario string, value func(load.Result) float64) func(r *Round) float64 {
	return func(r *Round) float64 {
		if result, ok := r.result(step, scenario); ok {
			return value(result)
		}
		return math.NaN()
	}
}

func perSecond(step, scenario string) func(r *Round) float64 {
	return found(step, scenario, func(r load.Result) float64 { return r.PerSec })
}

func figure(step, scenario, name string) func(r *Round) float64 {
	return found(step, scenario, func(r load.Result) float64 {
		if value, ok := r.Figures[name]; ok {
			return value
		}
		return math.NaN()
	})
}

func p99(of *load.Latency) float64 {
	if of == nil {
		return math.NaN()
	}
	return of.P99
}

func answerP99(step, scenario string) func(r *Round) float64 {
	return found(step, scenario, func(r load.Result) float64 { return p99(r.Latency) })
}

func orderP99(step, scenario string) func(r *Round) float64 {
	return found(step, scenario, func(r load.Result) float64 { return p99(r.Order) })
}

func ratio(a, b func(r *Round) float64) func(r *Round) float64 {
	return func(r *Round) float64 { return a(r) / b(r) }
}

// rows are the figures that the bars are about, in the order of the table.
var rows = []row{
	{
		name: "gate: grouped ÷ one script per buy, AOF `always`", unit: "buys/s",
		ours: micro("Gate", "grouped/s"), baseline: micro("Gate", "single/s"), figure: micro("Gate", "ratio"), least: 4,
		digits: 2,
	},
	{
		name: "reserved buys ÷ `time` ops, the same 10,000 sockets", unit: "ops/s",
		ours: perSecond("sockets", "buy"), baseline: perSecond("sockets", "time"), least: 0.7, digits: 2,
	},
	{
		name: "reserved buys ÷ one script per buy, 10,000 sockets", unit: "buys/s",
		ours: perSecond("sockets", "buy"), baseline: perSecond("sockets-simple", "buy"), least: 3, digits: 2,
	},
	{
		name: "burst of 10,000: p99 of buys ÷ p99 of `time` ops", unit: "ms",
		ours: answerP99("sockets", "burst"), baseline: figure("sockets", "burst", "time_p99_ms"), most: 1.5, digits: 2,
	},
	{
		name: "sold-out answers ÷ `time` ops", unit: "ops/s",
		ours: perSecond("sockets", "soldout"), baseline: perSecond("sockets", "time"), least: 0.9, digits: 2,
	},
	{
		name: "fulfilment: grouped ÷ one row per transaction, 16 connections", unit: "rows/s",
		ours: micro("Fulfil", "grouped/s"), baseline: micro("Fulfil", "single/s"), figure: micro("Fulfil", "ratio"),
		least: 15, digits: 1,
	},
	{
		name: "chain: confirmed orders a second, all checks on", unit: "orders/s",
		ours: perSecond("chain", "chain"), figure: perSecond("chain", "chain"), least: 30_000,
	},
	{
		name: "chain ÷ the simple chain", unit: "orders/s",
		ours: perSecond("chain", "chain"), baseline: perSecond("chain-simple", "chain"), least: 10, digits: 1,
	},
	{
		name: "chain at half that rate: click → order pushed, p99", unit: "ms",
		ours: orderP99("chain-half", "chain"), figure: orderP99("chain-half", "chain"), most: 150,
	},
	{
		name: "fan-out ÷ plain write loop", unit: "frames/s",
		ours: micro("Fanout", "frames/s"), baseline: micro("Fanout", "plain-frames/s"), figure: micro("Fanout",
			"ratio"), least: 0.9, digits: 2,
	},
	{
		name: "fan-out with 1 % of the clients stalled ÷ plain write loop", unit: "frames/s",
		ours: micro("FanoutStalled", "frames/s"), baseline: micro("FanoutStalled", "plain-frames/s"),
		figure: micro("FanoutStalled", "ratio"), least: 0.85, digits: 2,
	},
	{
		name: "tick age, 18,000 watchers (1 % stalled), 5 ticks a second, p99", unit: "ms",
		ours: answerP99("crowd", "fanout"), figure: answerP99("crowd", "fanout"), most: 250,
	},
	{
		name: "memory per idle socket, 18,000, authenticated and watching", unit: "KB",
		ours: figure("crowd", "idle", "kb_per_socket"), figure: figure("crowd", "idle", "kb_per_socket"), most: 14,
		digits: 1,
	},
	{
		name: "processor time per buy: 18,000 sockets ÷ 1,000", unit: "µs",
		ours: figure("many", "buy", "server_cpu_us_per_op"), baseline: figure("few", "buy", "server_cpu_us_per_op"),
		most: 1.2, digits: 2,
	},
	{
		name: "18,000 sockets drop and are all back, none lost an event", unit: "s",
		ours: figure("crowd", "reconnect", "all_back_s"), figure: figure("crowd", "reconnect", "all_back_s"), most: 10,
		digits: 1,
	},
	{
		name: "buys under 1,000 forged payment notifications a second ÷ without", unit: "buys/s",
		ours: figure("forged", "forged", "buys_per_second_with"), baseline: figure("forged", "forged",
			"buys_per_second_without"),
		least: 0.9, digits: 2,
	},
	{
		name: "memory in Redis per open order", unit: "bytes",
		ours:   func(r *Round) float64 { return r.RedisBytesPerOrder },
		figure: func(r *Round) float64 { return r.RedisBytesPerOrder }, most: 600,
	},
	{
		name: "waiting reservations turned into orders while nobody buys", unit: "orders/s",
		ours: func(r *Round) float64 { return r.DrainedPerSec },
	},
}

// render makes RESULTS.md of the rounds and of what other machines found.
func render(rounds []Round, machines []MachineFigures) []byte {
	var b bytes.Buffer
	first := rounds[0]
	m := first.Machine
	fmt.Fprintf(&b, "# What `just bench` measured\n\n")
	fmt.Fprintf(&b,
		"Made from the rounds beside it (`round-1.json` …) by `deploy/bench`; a test makes it again and compares.\n\n")
	fmt.Fprintf(&b, "| | |\n|---|---|\n")
	for _, fact := range [][2]string{
		{"revision", m.Revision},
		{"begun", first.Began},
		{"rounds", strconv.Itoa(len(rounds))},
		{
			"machine",
			fmt.Sprintf("%s, %d cores, %d GB; server, stores and load generator share it", m.CPU, m.Cores, m.MemoryGB),
		},
		{"system", m.Kernel + ", " + m.Go},
		{"stores", "Redis " + m.Redis + ", " + m.Database},
		{"durability", m.Durable},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", fact[0], fact[1])
	}
	b.WriteByte('\n')
	warn(&b, rounds)
	fmt.Fprintf(&b,
		"Medians over the rounds; the spread is the lowest and the highest round. The two sides of a ratio took turns within each round.\n")
	fmt.Fprintf(&b, "The last column has the medians of a ratio over all machines that machines.json knows.\n\n")
	fmt.Fprintf(&b,
		"| figure | ours | baseline | ratio or figure | spread | bar | | over machines |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range rows {
		w.render(&b, rounds, machines)
	}
	fmt.Fprintf(&b, "\n%s", explanation)
	processorTime(&b, rounds)
	return b.Bytes()
}

// warn says that the rounds are not the ones that the bars are about.
func warn(b *bytes.Buffer, rounds []Round) {
	if scale := rounds[0].Scale; scale != 1 {
		fmt.Fprintf(b, "**Crowds and times were scaled by %g: these figures say nothing about the bars.**\n\n", scale)
	}
}

const explanation = `Every round ended with its checks: the books of all sales are right (` + "`stampede audit`" + `), every buy that was answered
with ` + "`reserved`" + ` is an order, and every shopper heard of every order exactly once. A run in which one fails writes nothing.

"One script per buy", "one row per transaction" and "the simple chain" are the same program, built with the tag ` + "`bench`" + `,
with the groups taken out. ` + "`time`" + ` is an op that the socket answers without Redis: the limit of the socket layer. The plain
write loop writes the same bytes to as many plain connections.
`

// compared is what the bar is about; nil: there is no bar.
func (w *row) compared() func(r *Round) float64 {
	if w.figure == nil && w.baseline != nil {
		return ratio(w.ours, w.baseline)
	}
	return w.figure
}

func (w *row) render(b *bytes.Buffer, rounds []Round, machines []MachineFigures) {
	of := w.compared()
	ours, baseline, value, spread := median(w.ours, rounds), "", "", ""
	if w.baseline != nil {
		baseline = number(median(w.baseline, rounds), w.unit)
	}
	verdict := ""
	if of != nil {
		all := values(of, rounds)
		mid := middle(all)
		value = digits(mid, w.digits)
		if len(all) > 0 {
			spread = digits(all[0], w.digits) + "–" + digits(all[len(all)-1], w.digits)
		}
		if verdict = w.verdict(mid); rounds[0].Scale != 1 {
			verdict = "scaled"
		}
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", w.name, number(ours, w.unit), baseline, value, spread,
		w.bar(),
		verdict, w.overMachines(machines))
}

func (w *row) verdict(value float64) string {
	switch {
	case math.IsNaN(value):
		return "not measured"
	case w.least > 0 && value < w.least, w.most > 0 && value > w.most:
		return "short"
	}
	return "pass"
}

func (w *row) bar() string {
	switch {
	case w.least > 0:
		return "≥ " + digits(w.least, -1)
	case w.most > 0:
		return "≤ " + digits(w.most, -1)
	}
	return ""
}

// values are those of the rounds that have one, the smallest first.
func values(of func(r *Round) float64, rounds []Round) []float64 {
	var all []float64
	for i := range rounds {
		if v := of(&rounds[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

func median(of func(r *Round) float64, rounds []Round) float64 { return middle(values(of, rounds)) }

// middle is the median of sorted values.
func middle(all []float64) float64 {
	n := len(all)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 0:
		return (all[n/2-1] + all[n/2]) / 2
	}
	return all[n/2]
}

// number writes a figure with its unit: whole from 100 on.
func number(v float64, unit string) string {
	if math.IsNaN(v) {
		return "–"
	}
	precision := 0
	if v < 100 {
		precision = 1
	}
	return digits(v, precision) + " " + unit
}

// digits writes a number with thousands apart; -1: as many decimals as it has.
func digits(v float64, precision int) string {
	if math.IsNaN(v) {
		return "–"
	}
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', precision, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
