package main

import (
	"math"
	"path/filepath"
	"testing"

	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// TestAWholeRound is `just bench` in small: every step runs, with its checks, so that the harness cannot rot. How fast
// it was, nobody asks here; the Go benchmarks have tests of their own packages.
func TestAWholeRound(t *testing.T) {
	bin := t.TempDir()
	for name, flags := range map[string][]string{programName: nil, simpleName: {"-tags", "bench"}} {
		if err := kit.Build(filepath.Join(bin, name), flags...); err != nil {
			t.Fatal(err)
		}
	}
	redis := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	mariadb := kit.StartMariaDB(t, kit.MariaDBOptions{})
	t.Setenv("STAMPEDE_TEST_REDIS", redis.URL[:len(redis.URL)-len("/0")])
	t.Setenv("STAMPEDE_TEST_MYSQL", mariadb.DSN)
	out := t.TempDir()
	if err := measure(t.Context(), flags{bin: bin, out: out, rounds: 1, scale: 0.005}); err != nil {
		t.Fatal(err)
	}
	rounds, err := readRounds(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range rows {
		if math.IsNaN(median(rounds, w.ours)) && (&Round{Micro: everyMicro}).figures().of(w.ours) != 1 {
			t.Errorf("%s was not measured", w.name)
		}
	}
	for _, c := range costs {
		if all := values(rounds, together(c.of)); len(all) != 1 || all[0] <= 0 {
			t.Errorf("processor time of %q was not measured of every process", c.name)
		}
	}
	if machines, err := readMachines(out); err != nil || len(machines) > 0 {
		t.Errorf("a scaled run is remembered as what this machine finds: %v, %v", machines, err)
	}
}

// everyMicro has a value for whatever Go benchmarks measure: the short form leaves them out.
var everyMicro = map[string]map[string]float64{
	"Gate": {"grouped/s": 1}, "Fulfil": {"grouped/s": 1}, "Fanout": {"frames/s": 1}, "FanoutStalled": {"frames/s": 1},
}
