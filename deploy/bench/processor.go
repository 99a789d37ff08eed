package main

import (
	"bytes"
	"fmt"
)

// costMetrics are the figures with the processor time of each process, in the order of the table's columns.
var costMetrics = []string{
	"server_cpu_us_per_op", "redis_cpu_us_per_op", "database_cpu_us_per_op", "generator_cpu_us_per_op",
}

// costs are the ops whose processor time is listed separately, by step and scenario.
var costs = []struct{ name, prefix string }{
	{"order, from the buy to its event (chain)", "chain/chain "},
	{"order of the simple chain", "chain-simple/chain "},
	{"reserved buy", "sockets/buy "},
	{"reserved buy, one script per buy", "sockets-simple/buy "},
	{"sold-out reply", "sockets/soldout "},
	{"`time` op", "sockets/time "},
}

// totalProcessorTime returns the processor time of all processes per op; NaN if one process was not measured.
func totalProcessorTime(prefix string) func(f figures) float64 {
	return func(f figures) float64 {
		sum := 0.0
		for _, costMetric := range costMetrics {
			sum += f.get(prefix + costMetric)
		}
		return sum
	}
}

// processorTime renders one line per op. Processor time varies much less than rates with the machine and the hour, so
// it is better for comparing versions.
func processorTime(b *bytes.Buffer, rounds []Round) {
	for _, c := range costs {
		fmt.Fprintf(b, "| %s |", c.name)
		for _, costMetric := range costMetrics {
			fmt.Fprintf(b, " %s |", digits(median(rounds, c.prefix+costMetric), 1))
		}
		all := values(rounds, totalProcessorTime(c.prefix))
		spread := ""
		if len(all) > 0 {
			spread = digits(all[0], 1) + "–" + digits(all[len(all)-1], 1)
		}
		fmt.Fprintf(b, " %s | %s |\n", digits(medianOfSorted(all), 1), spread)
	}
}
