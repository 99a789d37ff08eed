package main

import (
	"path/filepath"
	"testing"

	"stampede/app/load"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// TestSmallestRoundMeasuresItsFigures runs one step of a round with its checks at the smallest scale: on real stores,
// with a server and a generator in their own processes. Table, figures and pages have tests without processes;
// TestEveryLoadScenarioPassesItsChecks runs the scenarios of the other steps.
func TestSmallestRoundMeasuresItsFigures(t *testing.T) {
	bin := t.TempDir()
	if err := kit.Build(filepath.Join(bin, programName), nil); err != nil {
		t.Fatal(err)
	}
	redis := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	mariadb := kit.StartMariaDB(t, kit.MariaDBOptions{})
	t.Setenv("STAMPEDE_TEST_REDIS", redis.URL[:len(redis.URL)-len("/0")])
	t.Setenv("STAMPEDE_TEST_MYSQL", mariadb.DSN)
	ctx := t.Context()
	s, err := openStores(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	machine, err := describe(ctx, s)
	if err != nil || machine.Redis == "" || machine.Database == "" {
		t.Fatalf("got machine %+v (%v), want versions of Redis and of the database", machine, err)
	}
	round := &Round{Number: 1, Scale: 0.005, Machine: machine, Steps: make(map[string][]load.Result)}
	r := &runner{flags: flags{bin: bin, scale: round.Scale}, stores: s, round: round}
	if r.shop, err = s.openShop(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.tool(ctx, "migrate", "up"); err != nil {
		t.Fatal(err)
	}
	err = r.withNode(ctx, allRoles, func(n *node) error {
		if _, _, _, err := r.loadChain(ctx, n, "chain", longTime); err != nil {
			return err
		}
		return r.drain(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chain/chain per_second", "chain/chain order_p99_ms"} {
		if got := round.figures().get(name); !(got > 0) {
			t.Errorf("%s is %v, want more than 0", name, got)
		}
	}
	if all := values([]Round{*round}, totalProcessorTime(costs[0].prefix)); len(all) != 1 || all[0] <= 0 {
		t.Errorf("processor time of every process: %v", all)
	}
	if err := r.shop.close(ctx); err != nil {
		t.Error(err)
	}
}
