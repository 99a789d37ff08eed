package main

import (
	"bytes"
	"fmt"
)

// spenders are the processes whose processor time is told apart, as the figures name them.
var spenders = []struct{ figure, title string }{
	{"server_cpu_us_per_op", "server"},
	{"redis_cpu_us_per_op", "Redis"},
	{"database_cpu_us_per_op", "MariaDB"},
	{"generator_cpu_us_per_op", "generator"},
}

// costs are the ops whose processor time is told apart, by step and scenario.
var costs = []struct{ name, of string }{
	{"order, from the press to its event (chain)", "chain/chain "},
	{"order of the simple chain", "chain-simple/chain "},
	{"reserved buy", "sockets/buy "},
	{"reserved buy, one script per buy", "sockets-simple/buy "},
	{"sold-out answer", "sockets/soldout "},
	{"`time` op", "sockets/time "},
}

// together adds up what all processes spent on an op; NaN when one of them was not measured.
func together(of string) func(f figures) float64 {
	return func(f figures) float64 {
		sum := 0.0
		for _, s := range spenders {
			sum += f.of(of + s.figure)
		}
		return sum
	}
}

// processorTime is the table to steer by: rates move with the machine and with the hour, processor time much less.
func processorTime(b *bytes.Buffer, rounds []Round) {
	fmt.Fprintf(b,
		"\n## Processor time, process by process\n\nThe figure to steer by: what one of them takes, in µs of one processor, "+
			"while as many are under way as the machine bears.\nMedians over the rounds; the spread is of the sum.\n\n|  |")
	for _, s := range spenders {
		fmt.Fprintf(b, " %s |", s.title)
	}
	fmt.Fprintf(b, " together | spread |\n|---|---|---|---|---|---|---|\n")
	for _, c := range costs {
		fmt.Fprintf(b, "| %s |", c.name)
		for _, s := range spenders {
			fmt.Fprintf(b, " %s |", digits(median(rounds, c.of+s.figure), 1))
		}
		all := values(rounds, together(c.of))
		spread := ""
		if len(all) > 0 {
			spread = digits(all[0], 1) + "–" + digits(all[len(all)-1], 1)
		}
		fmt.Fprintf(b, " %s | %s |\n", digits(middle(all), 1), spread)
	}
}
