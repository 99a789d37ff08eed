//go:build galera

package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"stampede/app"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// galera is a cluster with the schema, and a store on each of its nodes.
func galera(t *testing.T) (*kit.GaleraCluster, []string, []*store.Store) {
	t.Helper()
	c := kit.StartGalera(t)
	dsns := c.Database()
	stores := make([]*store.Store, len(dsns))
	for i, dsn := range dsns {
		stores[i] = openMySQL(t, dsn)
	}
	migrated(t, stores[0])
	return c, dsns, stores
}

// A schema that one node made, took back and made again is there on every node, each table with its primary key.
func TestGaleraMigrations(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	_, _, stores := galera(t)
	if _, err := migrations.Down(ctx, stores[1].DB()); err != nil {
		t.Fatalf("down: %v", err)
	}
	if _, err := migrations.Up(ctx, stores[2].DB()); err != nil {
		t.Fatalf("up again: %v", err)
	}
	for i, s := range stores {
		if names, err := migrations.Pending(ctx, s.DB()); err != nil || len(names) > 0 {
			t.Errorf("node %d lacks %s: %v", i, names, err)
		}
	}
	var bare int // Galera certifies by primary keys
	err := stores[0].DB().QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables AS t
		WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND NOT EXISTS (
			SELECT 1 FROM information_schema.statistics AS s WHERE s.table_schema = t.table_schema AND
				s.table_name = t.table_name AND s.index_name = 'PRIMARY')`).Scan(&bare)
	if err != nil || bare != 0 {
		t.Errorf("%d tables have no primary key, %v", bare, err)
	}
}

// F6: nodes of one cluster have one history, so that a move between them does not look like a database that was
// promoted without its last rows; another cluster has another one.
func TestGaleraNodesHaveOneHistory(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	_, _, stores := galera(t)
	other := openMySQL(t, kit.StartGalera(t).Database()[0])
	var histories []string
	for _, s := range append(stores, other) {
		now, err := s.Clock(ctx)
		must(t, err)
		histories = append(histories, now.History)
	}
	if histories[0] != histories[1] || histories[0] != histories[2] || histories[0] == histories[3] {
		t.Errorf("histories %v; want three times the same and another", histories)
	}
}

// P2: what one node has committed, whoever asks another one next finds there, though that one applies it later.
func TestGaleraReadsWhatAnotherNodeCommitted(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	_, _, stores := galera(t)
	var reading time.Duration
	for n := range 300 {
		name := fmt.Sprint("kit", n)
		must(t, errOf(stores[0].DB().ExecContext(ctx, "INSERT INTO settings (name, value) VALUES (?, '1')", name)))
		var found int
		asked := time.Now()
		err := stores[1].DB().QueryRowContext(ctx, "SELECT COUNT(*) FROM settings WHERE name = ?", name).Scan(&found)
		if err != nil || found != 1 {
			t.Fatalf("row %d: %d found on the other node, %v", n, found, err)
		}
		reading += time.Since(asked)
	}
	t.Logf("a read that waits for the other node's write: %v", reading/300)
}

// P1: two nodes write the same row through two nodes of the cluster. One of each two transactions that meet is the
// victim, at the latest at its COMMIT, and is tried again; nothing is counted twice or lost.
func TestGaleraConflictsAreTriedAgain(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	_, _, stores := galera(t)
	const each = 60
	var all sync.WaitGroup
	for _, s := range stores {
		all.Go(func() {
			for range each {
				for { // what stays a conflict after some tries is a moment, nothing else
					_, err := s.AdvanceEpoch(ctx, 1, 0)
					if err == nil {
						break
					}
					if !errors.Is(err, app.ErrTransient) {
						t.Errorf("advance: %v; want a transient fault", err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	epoch, _, err := stores[0].PartitionEpoch(ctx, 1)
	if err != nil || epoch != 1+int64(each*len(stores)) {
		t.Errorf("epoch %d, %v; want %d", epoch, err, 1+each*len(stores))
	}
	for i, s := range stores {
		var victims string
		err := s.DB().QueryRowContext(ctx, `SELECT GROUP_CONCAT(VARIABLE_NAME, '=', VARIABLE_VALUE)
			FROM information_schema.GLOBAL_STATUS
			WHERE VARIABLE_NAME IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')`).Scan(&victims)
		t.Logf("node %d: %s %v", i, victims, err)
	}
}

// P1, P2: a node without the majority takes nothing and says so as a transient fault, within the time of a statement;
// it goes on by itself when the others are back.
func TestGaleraWithoutQuorumIsTransient(t *testing.T) {
	t.Parallel()
	c, _, stores := galera(t)
	c.Nodes[1].Pause()
	c.Nodes[2].Pause()
	var refused error
	kit.Eventually(t, time.Minute, func() (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, refused = stores[0].AdvanceEpoch(ctx, 2, 0)
		return refused != nil && strings.Contains(refused.Error(), "1047"), errText(refused)
	})
	t.Logf("without the majority: %v", refused)
	if !errors.Is(refused, app.ErrTransient) {
		t.Errorf("%v; want a transient fault", refused)
	}
	c.Nodes[1].Resume()
	c.Nodes[2].Resume()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_, err := stores[0].AdvanceEpoch(ctx, 2, 0)
		return err == nil, errText(err)
	})
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// I8: the locks by name of one node do not hold on another, so the check of a configuration names an address that
// leads to several.
func TestGaleraBehindABalancerIsNamed(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	c, dsns, stores := galera(t)
	if err := oneServer(ctx, t, stores[0]); err != nil {
		t.Errorf("one node: %v", err)
	}
	var turn atomic.Int64
	mysql.RegisterDialContext("turns", func(ctx context.Context, _ string) (net.Conn, error) {
		cfg, err := mysql.ParseDSN(dsns[turn.Add(1)%int64(len(c.Nodes))])
		if err != nil {
			return nil, err
		}
		return new(net.Dialer).DialContext(ctx, "tcp4", cfg.Addr)
	})
	cfg, err := mysql.ParseDSN(dsns[0])
	must(t, err)
	cfg.Net = "turns"
	err = oneServer(ctx, t, openMySQL(t, cfg.FormatDSN()))
	if !errors.Is(err, app.ErrMisconfigured) || !strings.Contains(err.Error(), "one node at a time") {
		t.Errorf("behind a balancer: %v; want it named", err)
	}
}

// oneServer is what the check of a configuration finds about that.
func oneServer(ctx context.Context, t *testing.T, s *store.Store) error {
	t.Helper()
	for _, need := range s.Needs(ctx) {
		if need.What == "reach one server with all connections" {
			return need.Err
		}
	}
	t.Fatal("nobody asks whether all connections reach one server")
	return nil
}
