package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"stampede/app/load"
)

const roundsFolder = "../load"

// TestResultsMatchTheStoredRounds compares RESULTS.md and SCALE.md with pages written of the stored raw figures.
func TestResultsMatchTheStoredRounds(t *testing.T) {
	t.Parallel()
	rounds, err := readRounds(roundsFolder)
	if err != nil {
		t.Fatal(err)
	}
	machines, err := readMachines(roundsFolder)
	if err != nil {
		t.Fatal(err)
	}
	written, err := pages(rounds, machines)
	if err == nil {
		err = appendRolling(roundsFolder, written)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range written {
		want, err := os.ReadFile(filepath.Join(roundsFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s does not match the stored rounds (deploy/scripts/bench.sh --render writes it):\n%s", name, got)
		}
	}
	for _, w := range rows {
		if math.IsNaN(median(rounds, w.figure)) {
			t.Errorf("%s was not measured", w.name)
		}
	}
	for _, c := range costs {
		if all := values(rounds, totalProcessorTime(c.prefix)); len(all) != len(rounds) || all[0] <= 0 {
			t.Errorf("processor time of %q was not measured for every process: %v", c.name, all)
		}
	}
	for _, r := range rounds {
		if r.Machine.Revision == "" || r.Machine.Revision != rounds[0].Machine.Revision {
			t.Errorf("round %d is of revision %q, round 1 of %q", r.Number, r.Machine.Revision,
				rounds[0].Machine.Revision)
		}
	}
}

// TestResultsNameACommit: the revision of RESULTS.md can be checked out and measured again.
func TestResultsNameACommit(t *testing.T) {
	t.Parallel()
	rounds, err := readRounds(roundsFolder)
	if err != nil {
		t.Fatal(err)
	}
	git := func(arguments ...string) (string, error) {
		output, err := exec.CommandContext(t.Context(), "git", arguments...).CombinedOutput()
		return strings.TrimSpace(string(output)), err
	}
	revision := rounds[0].Machine.Revision
	if strings.HasSuffix(revision, "+") {
		t.Errorf("revision %q had changes that are in no commit", revision)
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
		t.Logf("a clone without history cannot show that revision %q is in it: %v", revision, err)
	} else if output, err := git("merge-base", "--is-ancestor", revision, "HEAD"); err != nil {
		t.Errorf("revision %q is not a commit of this history: %v %s", revision, err, output)
	}
	if len(rounds) < 3 {
		t.Errorf("got %d rounds, want at least 3", len(rounds))
	}
}

// TestNewFolderGetsItsPages: rounds in a folder without figures of other runs are rendered.
func TestNewFolderGetsItsPages(t *testing.T) {
	t.Parallel()
	rounds, err := readRounds(roundsFolder)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "new")
	if err := errors.Join(writeRounds(folder, rounds), run(t.Context(), flags{out: folder, render: true})); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "RESULTS.md")); err != nil || !strings.Contains(string(text), "| rounds |") {
		t.Errorf("got %v and %.100q, want a page of results", err, text)
	}
}

// TestRoundsAreReadBackUnchanged writes and reads rounds, and expects an error for an unknown field.
func TestRoundsAreReadBackUnchanged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	r := Round{Number: 2, Scale: 1, Steps: map[string][]load.Result{"chain": {{
		Scenario: "chain", PerSec: 31_000, Order: &load.Latency{P99: 120}, Figures: map[string]float64{"waiting": 0},
	}}}}
	if err := writeRounds(folder, []Round{r, {Number: 1, Scale: 1}}); err != nil {
		t.Fatal(err)
	}
	rounds, err := readRounds(folder)
	if err != nil || len(rounds) != 2 || rounds[0].Number != 1 {
		t.Fatalf("got rounds %v (%v), want rounds 1 and 2 in order", rounds, err)
	}
	if got := rounds[1].figures().get("chain/chain per_second"); got != 31_000 {
		t.Errorf("rate of the chain: got %v, want 31000", got)
	}
	if got := rounds[0].figures().get("chain/chain per_second"); !math.IsNaN(got) {
		t.Errorf("rate of a round without a chain: got %v, want NaN", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "round-1.json"), []byte(`{"numbre":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRounds(folder); err == nil {
		t.Error("a misspelt field was accepted, want an error")
	}
	if _, err := readRounds(t.TempDir()); err == nil {
		t.Error("a folder without rounds was accepted, want an error")
	}
}

// TestMediansDecideTheVerdict expects that medians decide, and that an unmeasured figure does not pass.
func TestMediansDecideTheVerdict(t *testing.T) {
	t.Parallel()
	const rate = "drained_per_second"
	rounds := []Round{
		{Scale: 1, DrainedPerSec: 12_000}, {DrainedPerSec: 50}, {DrainedPerSec: 11_000.4}, {DrainedPerSec: math.NaN()},
	}
	for name, c := range map[string]struct {
		row  row
		want string
	}{
		"minimum, reached":     {row{name: "x", unit: "a/s", figure: rate, min: 11_000}, "| x | 11,000 a/s |  | 11,000 | 50–12,000 | ≥ 11,000 | pass |  |"},
		"minimum, not reached": {row{name: "x", unit: "a/s", figure: rate, min: 11_001}, "| short |"},
		"maximum, exceeded":    {row{name: "x", unit: "ms", figure: rate, max: 0.5}, "| ≤ 0.5 | short |"},
		"ratio":                {row{name: "x", unit: "a/s", figure: rate, baseline: rate, max: 1, digits: 2}, "| 1.00 | 1.00–1.00 | ≤ 1 | pass | 0.80–1.25 |"},
		"not measured": {row{
			name: "x", unit: "ms", figure: "None x", max: 1,
		}, "| not measured |"},
		"no bar": {row{name: "x", unit: "a/s", figure: rate}, "| x | 11,000 a/s |  |  |  |  |  |  |"},
	} {
		var b bytes.Buffer
		c.row.render(&b, rounds, []MachineFigures{
			{Figures: map[string]float64{"x": 1.25}},
			{Figures: map[string]float64{"y": 7}},
			{Figures: map[string]float64{"x": 0.8}},
		})
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: got %s, want a line with %q", name, b.String(), c.want)
		}
	}
}

func TestReadBenchmarkReturnsTheMetrics(t *testing.T) {
	t.Parallel()
	const out = "goos: linux\nBenchmarkRatioFanoutStalled-2 \t 200\t 1.5 ratio\n" +
		"BenchmarkRatioFanout-2   \t     200\t     36152 frames/s\t     49561 plain-frames/s\t         0.7294 ratio\nPASS\n"
	got := readBenchmark(out, "BenchmarkRatioFanout")
	if len(got) != 3 || got["frames/s"] != 36152 || got["ratio"] != 0.7294 {
		t.Errorf("got metrics %v, want the 3 metrics of Fanout", got)
	}
	if got := readBenchmark(out, "BenchmarkRatioGate"); len(got) != 0 {
		t.Errorf("got metrics %v of a benchmark that did not run, want none", got)
	}
}

// TestRatiosReplaceThoseOfTheSameMachine expects that new ratios replace the old ones of the same machine only.
func TestRatiosReplaceThoseOfTheSameMachine(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	gate := func(machine string, ratios ...float64) []Round {
		rounds := make([]Round, len(ratios))
		for i, v := range ratios {
			rounds[i] = Round{Scale: 1, Machine: Machine{CPU: machine, Cores: 2}, Micro: map[string]map[string]float64{
				"Gate": {"grouped/s": 100, "single/s": 10, "ratio": v},
			}}
		}
		return rounds
	}
	scaled := gate("scaled", 1)
	scaled[0].Scale = 0.005 // is not stored
	for _, rounds := range [][]Round{gate("slow", 3), gate("fast", 4, 5, 6), gate("slow", 4.2, 4.7, 4.9), scaled} {
		if err := storeMachine(folder, rounds); err != nil {
			t.Fatal(err)
		}
	}
	machines, err := readMachines(folder)
	if err != nil || len(machines) != 2 {
		t.Fatalf("got machines %v (%v), want 2", machines, err)
	}
	if got := rows[0].overMachines(machines); got != "4.70–5.00" {
		t.Errorf("%s: got range over machines %s, want 4.70–5.00", rows[0].name, got)
	}
	if got := rows[0].overMachines(machines[:1]); got != "" {
		t.Errorf("a spread of one machine: %s", got)
	}
}
