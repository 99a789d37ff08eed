package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// row is one line of the table. Its limit applies to the ratio figure ÷ baseline, or to the figure if there is no
// baseline.
type row struct {
	name     string
	unit     string // of the figure and of the baseline
	figure   string // name of a figure
	baseline string // name of a figure; "": none
	ratio    string // name of a figure that contains the ratio; "": figure ÷ baseline
	min      float64
	max      float64 // min or max is the limit; 0: none
	digits   int     // decimals of the ratio, or of the figure without a baseline
}

// rows are the lines of the table, in order.
var rows = []row{
	{
		name: "gate: grouped ÷ one script per buy, AOF `always`", unit: "buys/s", min: 4, digits: 2,
		figure: "Gate grouped/s", baseline: "Gate single/s", ratio: "Gate ratio",
	},
	{
		name: "reserved buys ÷ `time` ops, the same 10,000 sockets", unit: "ops/s", min: 0.7, digits: 2,
		figure: "sockets/buy per_second", baseline: "sockets/time per_second",
	},
	{
		name: "reserved buys ÷ one script per buy, 10,000 sockets", unit: "buys/s", min: 3, digits: 2,
		figure: "sockets/buy per_second", baseline: "sockets-simple/buy per_second",
	},
	{
		name: "burst of 10,000: p99 of buys ÷ p99 of `time` ops", unit: "ms", max: 1.5, digits: 2,
		figure: "sockets/burst p99_ms", baseline: "sockets/burst time_p99_ms",
	},
	{
		name: "sold-out replies ÷ `time` ops", unit: "ops/s", min: 0.9, digits: 2,
		figure: "sockets/soldout per_second", baseline: "sockets/time per_second",
	},
	{
		name: "fulfilment: grouped ÷ one row per transaction, 16 connections", unit: "rows/s", min: 15, digits: 1,
		figure: "Fulfil grouped/s", baseline: "Fulfil single/s", ratio: "Fulfil ratio",
	},
	{
		name: "chain: confirmed orders a second, all checks on", unit: "orders/s", min: 30_000,
		figure: "chain/chain per_second",
	},
	{
		name: "chain ÷ the simple chain", unit: "orders/s", min: 10, digits: 1,
		figure: "chain/chain per_second", baseline: "chain-simple/chain per_second",
	},
	{
		name: "chain at half that rate: buy → order pushed, p99", unit: "ms", max: 150,
		figure: "chain-half/chain order_p99_ms",
	},
	{
		name: "fan-out ÷ plain write loop", unit: "frames/s", min: 0.9, digits: 2,
		figure: "Fanout frames/s", baseline: "Fanout plain-frames/s", ratio: "Fanout ratio",
	},
	{
		name: "fan-out with 1 % of the clients stalled ÷ plain write loop", unit: "frames/s", min: 0.85, digits: 2,
		figure: "FanoutStalled frames/s", baseline: "FanoutStalled plain-frames/s", ratio: "FanoutStalled ratio",
	},
	{
		name: "tick age, 18,000 watchers (1 % stalled), 5 ticks a second, p99", unit: "ms", max: 250,
		figure: "crowd/fanout p99_ms",
	},
	{
		name: "memory per idle socket, 18,000, authenticated and watching", unit: "KB", max: 12.6, digits: 1,
		figure: "crowd/idle kb_per_socket",
	},
	{
		name: "processor time per buy: 18,000 sockets ÷ 1,000", unit: "µs", max: 1.2, digits: 2,
		figure: "many/buy server_cpu_us_per_op", baseline: "few/buy server_cpu_us_per_op",
	},
	{
		name: "18,000 sockets disconnect and are all back, without a lost event", unit: "s", max: 10, digits: 1,
		figure: "crowd/reconnect all_back_s",
	},
	{
		name: "buys under 1,000 forged payment notifications a second ÷ without", unit: "buys/s", min: 0.9, digits: 2,
		figure: "floods/forged buys_per_second_with", baseline: "floods/forged buys_per_second_without",
	},
	{
		name: "buys under 500 log ins a second ÷ without", unit: "buys/s", min: 0.8, digits: 2,
		figure: "floods/logins buys_per_second_with", baseline: "floods/logins buys_per_second_without",
	},
	{
		name: "processor time of Redis per order (chain)", unit: "µs", max: 18, digits: 1,
		figure: "chain/chain redis_cpu_us_per_op",
	},
	{
		name: "append-only file of Redis per order", unit: "KB", max: 0.7, digits: 2,
		figure: "redis_log_kb_per_order",
	},
	{name: "memory in Redis per open order", unit: "bytes", max: 400, figure: "redis_bytes_per_open_order"},
	{name: "the same after most orders have waited for a worker", unit: "bytes", figure: "redis_bytes_per_open_order_after_a_jam"},
	{
		name: "waiting reservations turned into orders, without new buys", unit: "orders/s",
		figure: "drained_per_second",
	},
}

// compared returns the value to which the bar applies.
func (r *row) compared(f figures) float64 {
	switch {
	case r.baseline == "":
		return f.get(r.figure)
	case r.ratio == "":
		return f.get(r.figure) / f.get(r.baseline)
	}
	return f.get(r.ratio)
}

func (r *row) render(b *bytes.Buffer, rounds []Round, machines []MachineFigures) {
	baseline, value, spread, verdict := "", "", "", ""
	if r.baseline != "" {
		baseline = number(median(rounds, r.baseline), r.unit)
	}
	if r.baseline != "" || r.bar() != "" {
		all := values(rounds, r.compared)
		value = digits(medianOfSorted(all), r.digits)
		if len(all) > 0 {
			spread = digits(all[0], r.digits) + "–" + digits(all[len(all)-1], r.digits)
		}
		if verdict = r.verdict(medianOfSorted(all)); rounds[0].Scale != 1 {
			verdict = "scaled"
		}
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, number(median(rounds, r.figure), r.unit), baseline,
		value, spread, r.bar(), verdict, r.overMachines(machines))
}

func (r *row) verdict(value float64) string {
	switch {
	case math.IsNaN(value):
		return "not measured"
	case r.min > 0 && value < r.min, r.max > 0 && value > r.max:
		return "short"
	}
	return "pass"
}

func (r *row) bar() string {
	switch {
	case r.min > 0:
		return "≥ " + digits(r.min, -1)
	case r.max > 0:
		return "≤ " + digits(r.max, -1)
	}
	return ""
}

// number formats a figure with its unit: one decimal below 100, no decimals from 100 on.
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

// digits formats a number with commas between the thousands. Precision -1 means all decimals of the number.
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
