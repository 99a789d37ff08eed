package streams

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// The figures of a node stay until it replaces them. Exactly one node adds each point of the history.
func TestNodeReplacesOnlyItsFigures(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		turn := shop.Millis(1_795_222_800_000)
		publish := func(id, sockets int, turn shop.Millis) bool {
			first, err := f.inventory.Figures().PublishFigures(f.ctx, board.NodeFigures{ID: id, Sockets: sockets}, turn)
			f.must(err)
			return first
		}
		if !publish(1, 10, turn) || publish(2, 20, turn) || publish(1, 11, 0) || !publish(2, 20, turn+5000) {
			t.Error("a point of the history was added by no node or by two nodes, want one")
		}
		readFigures := func() (all []int) {
			stored, err := f.inventory.Figures().NodeFigures(f.ctx)
			f.must(err)
			for _, n := range stored {
				all = append(all, n.ID, n.Sockets)
			}
			slices.Sort(all)
			return all
		}
		if got := readFigures(); !slices.Equal(got, []int{1, 2, 11, 20}) {
			t.Errorf("got the figures %v of two nodes, want 1, 2, 11 and 20", got)
		}
		for i := range board.Points + 2 {
			point := board.Point{At: shop.Millis(i), Lags: []int64{int64(i)}}
			f.must(f.inventory.Figures().AddPoint(f.ctx, point, []int{2}))
		}
		all, err := f.inventory.Figures().Points(f.ctx, board.Points)
		f.must(err)
		last, err := f.inventory.Figures().Points(f.ctx, 2)
		f.must(err)
		if len(all) != board.Points || all[0].At != 2 || len(last) != 2 || last[1].At != board.Points+1 {
			t.Errorf("got %d points from %+v on and the last two %+v, want all points from 2 on", len(all), all[0], last)
		}
		if got := readFigures(); !slices.Equal(got, []int{1, 11}) {
			t.Errorf("after the end of one node got the figures %v, want 1 and 11", got)
		}
		for _, key := range []string{boardKey, boardHistory, boardPointClaims + "1795222800000"} {
			if ttl, err := f.client.PTTL(f.ctx, key).Result(); err != nil || ttl <= 0 || ttl > 20*time.Minute {
				t.Errorf("%s has a TTL of %v (%v), want 1 ms to 20 minutes", key, ttl, err)
			}
		}
	})
}

// The oldest waiting entry is found, pending or not delivered.
func TestOldestWaitingEntryIsReported(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		oldest := func() time.Duration {
			figures, err := f.inventory.Figures().PartitionFigures(f.ctx)
			f.must(err)
			return time.Duration(figures[0].OldestMS) * time.Millisecond
		}
		k := &f.inventory.parts[0].keys
		if got := oldest(); got != 0 {
			t.Errorf("the oldest entry of an empty stream waits for %v, want 0", got)
		}
		add := func(age time.Duration) {
			now, err := f.inventory.Now(f.ctx)
			f.must(err)
			f.must(f.client.Do(f.ctx, "XADD", k.orders, int64(now.Add(-age)), "terms", "x").Err())
			f.must(f.client.HIncrBy(f.ctx, k.meta, "waiting", 1).Err())
		}
		wantAge := func(what string, want time.Duration) {
			t.Helper()
			if got := oldest(); got < want || got > want+time.Minute {
				t.Errorf("%s: %v, want about %v", what, got, want)
			}
		}
		add(2 * time.Hour)
		wantAge("not delivered", 2*time.Hour)
		f.must(f.client.Do(f.ctx, "XREADGROUP", "GROUP", group, "a", "STREAMS", k.orders, ">").Err())
		add(time.Hour)
		wantAge("pending", 2*time.Hour)
	})
}

// A Redis that serves reads and rejects writes is detected by trying a write, without configuration. The end of the
// fault is detected, too.
func TestRejectedWritesAreDetected(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{})
	f := newFixture(t, server.URL)
	collector := NewStreamCollector(f.inventory)
	set := func(name, value string) { f.must(f.client.ConfigSet(f.ctx, name, value).Err()) }
	awaitRejects := func(want bool) {
		t.Helper()
		kit.Eventually(t, testTimeout, func() (bool, string) {
			figures, err := f.inventory.Figures().PartitionFigures(f.ctx)
			f.must(err)
			return figures[0].Rejects == want && figures[1].Rejects == want, fmt.Sprintf("%+v", figures)
		})
		if n := testutil.CollectAndCount(collector, "stampede_partition_rejects_writes"); n != 2 {
			t.Errorf("the metric has %d partitions, want 2", n)
		}
	}
	awaitRejects(false)
	set("maxmemory", "1") // OOM
	awaitRejects(true)
	set("maxmemory", "0")
	awaitRejects(false)
	f.must(os.Mkdir(filepath.Join(server.Dir, "dump.rdb"), 0o700)) // MISCONF: a folder prevents saving
	set("save", "3600 1")
	f.must(f.client.BgSave(f.ctx).Err())
	awaitRejects(true)
	set("save", "")
	awaitRejects(false)
}

// The figures of several processes for a sale are stored side by side. Each process replaces its own. They have a TTL.
func TestProcessReplacesOnlyItsSaleFigures(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		sale := newID()
		publish := func(by string, attempts int64) {
			rejected := map[shop.Layer]map[shop.Code]int64{shop.LayerNode: {shop.SoldOut: attempts}}
			figures := board.SaleFigures{Sale: sale, By: by, Attempts: attempts, Rejected: rejected}
			f.must(f.inventory.Figures().PublishSaleFigures(f.ctx, []board.SaleFigures{figures}))
		}
		publish("1", 5)
		publish("2", 7)
		publish("1", 6)
		stored, err := f.inventory.Figures().SaleFigures(f.ctx, sale)
		f.must(err)
		var attempts, rejected int64
		for _, one := range stored {
			attempts += one.Attempts
			rejected += one.Rejected[shop.LayerNode][shop.SoldOut]
		}
		if len(stored) != 2 || attempts != 13 || rejected != 13 {
			t.Errorf("got the figures %+v, want two processes with 13 attempts and 13 rejections", stored)
		}
		ttl, err := f.client.PTTL(f.ctx, boardSale+sale.String()).Result()
		if err != nil || ttl <= 39*24*time.Hour || ttl > board.SaleFiguresLife {
			t.Errorf("the figures have a TTL of %v (%v), want about 40 days", ttl, err)
		}
	})
}
