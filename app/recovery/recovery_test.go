package recovery

import (
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// currentDatabase is the history of a database that has lost nothing.
var currentDatabase = shop.DatabaseHistory{Server: "b", RecoveredServer: "b", Generation: 2, Beat: 9}

// I7, I8: a Redis that has lost a known fact is never trusted: with another epoch, behind the highest seq of a row or
// of this node, without its stream, or after the promotion of a replica. A partition that was closed before the history
// of the database began is recovered, but its sales are not restored. For lost orders and sales, see
// TestLostOrderIsDetected and TestSuspectChecksAllSalesAgain.
func TestLostWritesAreDetected(t *testing.T) {
	t.Parallel()
	intact := shop.PartitionState{
		Exists: true, Epoch: 4, Seq: 90, Seen: 80, History: "abc", Confirmed: "abc",
		Database: shop.RecordedHistory{Server: "b", Generation: 2, Beat: 8},
	}
	for name, c := range map[string]struct {
		change   func(f *finding)
		wantText string // "": Redis has lost nothing
		database bool
	}{
		"nothing lost":         {func(*finding) {}, "", false},
		"rows not yet written": {func(f *finding) { f.redis.Seq = 95 }, "", false},
		"everything lost":      {func(f *finding) { f.redis = shop.PartitionState{} }, "no data of it", false},
		"an unfinished restore": {func(f *finding) {
			f.redis.Recovering, f.redis.Lost = true, true
		}, "did not finish", false},
		"an unfinished comparison":   {func(f *finding) { f.redis.Recovering = true }, "", true},
		"an older copy of Redis":     {func(f *finding) { f.redis.Seq = 89 }, "seq 89", false},
		"a copy with an older epoch": {func(f *finding) { f.redis.Epoch = 3 }, "epoch 3", false},
		"a copy with a newer epoch":  {func(f *finding) { f.redis.Epoch = 5 }, "epoch 5", false},
		"behind this node":           {func(f *finding) { f.redis.Seen = 91 }, "has seen 91", false},
		"a replica was promoted": {func(f *finding) {
			f.redis.History, f.redis.Followed = "def", "abc"
		}, "promoted", false},
		"promoted more than once": {func(f *finding) {
			f.redis.History, f.redis.Followed = "def", "fed"
		}, "promoted", false},
		"promoted long ago":    {func(f *finding) { f.redis.Followed = "fed" }, "", false},
		"a restarted server":   {func(f *finding) { f.redis.History = "def" }, "", false},
		"the first inspection": {func(f *finding) { f.redis.Confirmed, f.redis.Followed = "", "fed" }, "", false},
		"a generation has begun": {func(f *finding) {
			f.redis.Database.Generation, f.redis.Epoch = 1, 3
		}, "", true},
		"a generation has begun, and an older copy": {func(f *finding) {
			f.redis.Database.Generation, f.redis.Seq = 1, 89
		}, "seq 89", true},
	} {
		f := finding{epoch: 4, seq: 90, redis: intact}
		c.change(&f)
		err := f.compare(currentDatabase)
		if err != nil || (f.redisLost == "") != (c.wantText == "") || !strings.Contains(f.redisLost, c.wantText) ||
			f.database != c.database || f.lost() != (c.wantText != "" || c.database) {
			t.Errorf("%s: got the finding %+v, %v; want redisLost %q, database %v", name, f, err, c.wantText, c.database)
		}
	}
}

// I8: detects databases that have lost commits, and rejects replaced ones.
func TestLostHistoriesAreDetected(t *testing.T) {
	t.Parallel()
	recorded := shop.RecordedHistory{Server: "b", Generation: 2, Beat: 9, Replaced: []string{"a"}}
	for name, c := range map[string]struct {
		database       shop.DatabaseHistory
		lost, replaced bool
	}{
		"the current server": {currentDatabase, false, false},
		"later beats": {shop.DatabaseHistory{
			Server: "b", RecoveredServer: "b", Generation: 2,
			Beat: 12,
		}, false, false},
		"a generation that has just begun": {shop.DatabaseHistory{Server: "c", RecoveredServer: "c", Generation: 3}, false, false},
		"a backup under the same name":     {shop.DatabaseHistory{Server: "b", RecoveredServer: "b", Generation: 2, Beat: 8}, true, false},
		"an older backup": {shop.DatabaseHistory{
			Server: "b", RecoveredServer: "b", Generation: 1,
			Beat: 90,
		}, true, false},
		"a replica of the current server": {shop.DatabaseHistory{Server: "c", RecoveredServer: "b", Generation: 2, Beat: 9}, true, false},
		"an older replica": {shop.DatabaseHistory{
			Server: "c", RecoveredServer: "a", Generation: 1,
			Beat: 5,
		}, true, false},
		"the replaced server":              {shop.DatabaseHistory{Server: "a", RecoveredServer: "a", Generation: 1, Beat: 99}, true, true},
		"the replaced server as a replica": {shop.DatabaseHistory{Server: "a", RecoveredServer: "b", Generation: 2, Beat: 9}, true, false},
	} {
		all := []shop.RecordedHistory{{Server: "b", Generation: 2, Beat: 7}, recorded}
		if lost := lostBy(c.database, all); lost != c.lost {
			t.Errorf("%s: got lost %v, want %v", name, lost, c.lost)
		}
		if by, replaced := replacedBy(c.database, all); replaced != c.replaced || replaced && by.Server != "b" {
			t.Errorf("%s: got replaced %v by %+v, want %v", name, replaced, by, c.replaced)
		}
	}
	if lostBy(currentDatabase, nil) {
		t.Error("without recorded histories: got lost, want not lost")
	}
}

// I8, I2: Redis lacks an order that has a row, or sells its unit.
func TestLostOrderIsDetected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer()
	id := w.insert(sale.ID, "hold = 1").String()
	kit.Must(t, w.client.HSet(w.ctx, "stampede:{0}:meta", "seq", 1).Err())
	if lost := w.inspect(); !strings.Contains(lost, "lacks order "+id) {
		t.Errorf("without the record of the buyer: got redisLost %q, want order %s", lost, id)
	}
	kit.Must(t, w.client.HSet(w.ctx, kit.SaleKey(&sale)+":buyers", id, "1|1|"+id+":hash:1:key;").Err())
	if lost := w.inspect(); !strings.Contains(lost, "Redis sells 5 units") {
		t.Errorf("with the record of the buyer and all units: got redisLost %q, want the surplus", lost)
	}
	kit.Must(t, w.client.HIncrBy(w.ctx, kit.SaleKey(&sale), "stock", -1).Err())
	if lost := w.inspect(); lost != "" {
		t.Errorf("with the record of the buyer: got redisLost %q, want none", lost)
	}
}

// I7: after Suspect, an inspection finds a sale that was lost after the first inspection. A sale that ended long ago
// may be retired.
func TestSuspectChecksAllSalesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, sale := w.offer(), w.offer()
	wantLost := func(want string) {
		t.Helper()
		if lost := w.inspect(); (lost == "") != (want == "") || !strings.Contains(lost, want) {
			t.Fatalf("got redisLost %q, want %q", lost, want)
		}
	}
	w.driver.Suspect(0) // like a node that starts after the sales were opened
	wantLost("")
	w.lose(&sale)
	wantLost("") // all sales were found once: the second inspection does not check them
	w.driver.Suspect(0)
	wantLost("sale " + sale.ID.String())
	w.exec("UPDATE sales SET closes_at = ?", sale.ClosesAt.Add(-2*shop.RetireAfter))
	wantLost("")
	w.find(&sale)
	w.lose(&other)
	wantLost("")
}

// I8: a restarted server may sell after an inspection that has checked every loaded sale.
func TestNewHistoryIsConfirmedAfterACheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer()
	w.check()
	epoch := w.redis.Epoch(0)
	kit.Must(t, w.client.HSet(w.ctx, "stampede:{0}:meta", "history", "abc").Err())
	w.lose(&sale)
	if lost := w.inspect(); !strings.Contains(lost, "sale "+sale.ID.String()) {
		t.Fatalf("got redisLost %q, want the sale", lost)
	}
	w.find(&sale)
	for range 2 {
		w.check()
		s, err := w.redis.Recovery().State(w.ctx, 0)
		if err != nil || s.Confirmed != s.History || s.Epoch != epoch {
			t.Fatalf("got the state %+v, %v; want the history confirmed in epoch %d", s, err, epoch)
		}
	}
}

// P6, F3: the entry proves that a new row was published, and the entries are lost. So new rows that may be unpublished
// get a new change time. For later states, the row itself records the publication.
func TestRestoreTouchesNewRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sale := w.offer()
	const until = 4711 // rows with an earlier change time were published
	kit.Must(t, w.db.Partitions().SetPublishedUntil(w.ctx, 0, until))
	rows := map[string]*struct {
		columns   string
		changedAt int64
		touched   bool
		order     shop.ID
	}{
		"pending":                {"hold = 1", until, true, 0},
		"paid":                   {"state = 'paid', rev = 2, published_rev = 2", until, false, 0},
		"refused":                {"state = 'refused'", until, true, 0},
		"expired, not published": {"state = 'expired', rev = 2", until, false, 0},
		"pending, published":     {"hold = 1", until - 1, false, 0},
	}
	for _, r := range rows {
		r.order = w.insert(sale.ID, r.columns)
		w.exec("UPDATE orders SET changed_at = ? WHERE id = ?", r.changedAt, r.order)
	}
	kit.Must(t, w.client.FlushDB(w.ctx).Err())
	w.check()
	for name, r := range rows {
		changed := kit.Count(t, w.db.DB().DB, "SELECT changed_at FROM orders WHERE id = ?", int64(r.order))
		if (changed != r.changedAt) != r.touched {
			t.Errorf("%s: got the change time %d, was %d; want touched %v", name, changed, r.changedAt, r.touched)
		}
	}
}
