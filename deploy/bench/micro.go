package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// benchmarks are the Go benchmarks of a round: the test binary, the benchmark, and the number of turns of its two
// sides.
var benchmarks = []struct{ binary, name, turns string }{
	{"streams.test", "BenchmarkRatioGate", "3x"},
	{"store.test", "BenchmarkRatioFulfil", "1x"},
	{"realtime.test", "BenchmarkRatioFanout", "200x"},
	{"realtime.test", "BenchmarkRatioFanoutStalled", "200x"},
}

// micro runs the Go benchmarks whose test binary exists.
func (r *runner) micro(ctx context.Context) error {
	r.round.Micro = make(map[string]map[string]float64)
	for _, m := range benchmarks {
		binary := filepath.Join(r.bin, m.binary)
		if _, err := os.Stat(binary); err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, binary, "-test.run", "^$", "-test.bench", "^"+m.name+"$", "-test.benchtime",
			m.turns)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", m.name, err, out)
		}
		metrics := readBenchmark(string(out), m.name)
		if len(metrics) == 0 {
			return fmt.Errorf("%s printed no benchmark figures:\n%s", m.name, out)
		}
		r.round.Micro[strings.TrimPrefix(m.name, "BenchmarkRatio")] = metrics
	}
	return nil
}

// readBenchmark parses the metrics of one benchmark from the output of `go test -bench`:
//
//	BenchmarkRatioGate-2   2   409000 grouped/s   4.2 ratio
func readBenchmark(out, name string) map[string]float64 {
	metrics := make(map[string]float64)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || strings.Split(fields[0], "-")[0] != name {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = value
			}
		}
	}
	return metrics
}
