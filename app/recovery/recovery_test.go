package recovery

import (
	"context"
	"slices"
	"strings"
	"testing"

	"stampede/app/shop"
)

// fakeStores has the state of both stores for partition 0; the calls of a recovery panic.
type fakeStores struct {
	Redis
	Sales
	Epochs
	epoch, seq   int64
	redis        shop.PartitionState
	loaded       []shop.Sale
	missingSales map[shop.ID]bool
	missing      []shop.LastOrder // missing in Redis
	confirmed    string
	now          shop.Millis
}

func (s *fakeStores) Now(context.Context) (shop.Millis, error) { return s.now, nil }

func (s *fakeStores) PartitionEpoch(context.Context, int) (epoch, seq int64, err error) {
	return s.epoch, s.seq, nil
}

func (s *fakeStores) State(context.Context, int) (shop.PartitionState, error) { return s.redis, nil }

func (s *fakeStores) LastOrders(context.Context, int) ([]shop.LastOrder, error) { return nil, nil }

func (s *fakeStores) Missing(context.Context, int, int64, []shop.LastOrder) ([]shop.LastOrder, error) {
	return s.missing, nil
}

func (s *fakeStores) Confirm(_ context.Context, _ int, state shop.PartitionState) error {
	s.confirmed = state.History
	return nil
}

func (s *fakeStores) SetEpoch(int, int64) {}

func (s *fakeStores) LoadedSales(context.Context, int) ([]shop.Sale, error) { return s.loaded, nil }

func (s *fakeStores) Counters(_ context.Context, sales []shop.SaleRef) ([]shop.Counters, error) {
	found := make([]shop.Counters, len(sales))
	for i, ref := range sales {
		found[i] = shop.Counters{Sale: ref.ID, Loaded: !s.missingSales[ref.ID]}
	}
	return found, nil
}

// currentDatabase is the history of a database that has lost nothing.
var currentDatabase = shop.DatabaseHistory{Server: "b", RecoveredServer: "b", Generation: 2, Beat: 9}

// I7, I8: a Redis that has lost a known fact is never trusted: with another epoch, behind the highest seq of a row or
// of this node, without an accepted order, without its stream, without a loaded sale, or after the promotion of a
// replica. A partition that was closed before the history of the database began is recovered, but its sales are not
// restored.
func TestLostWritesAreDetected(t *testing.T) {
	t.Parallel()
	intact := shop.PartitionState{
		Exists: true, Epoch: 4, Seq: 90, Seen: 80, History: "abc", Confirmed: "abc",
		Database: shop.RecordedHistory{Server: "b", Generation: 2, Beat: 8},
	}
	for name, c := range map[string]struct {
		change   func(s *fakeStores)
		wantText string // "": Redis has lost nothing
		database bool
	}{
		"nothing lost":         {func(*fakeStores) {}, "", false},
		"rows not yet written": {func(s *fakeStores) { s.redis.Seq = 95 }, "", false},
		"everything lost":      {func(s *fakeStores) { s.redis = shop.PartitionState{} }, "no data of it", false},
		"an unfinished restore": {func(s *fakeStores) {
			s.redis.Recovering, s.redis.Lost = true, true
		}, "did not finish", false},
		"an unfinished comparison":   {func(s *fakeStores) { s.redis.Recovering = true }, "", true},
		"an older copy of Redis":     {func(s *fakeStores) { s.redis.Seq = 89 }, "seq 89", false},
		"a copy with an older epoch": {func(s *fakeStores) { s.redis.Epoch = 3 }, "epoch 3", false},
		"a copy with a newer epoch":  {func(s *fakeStores) { s.redis.Epoch = 5 }, "epoch 5", false},
		"a lost sale":                {func(s *fakeStores) { s.missingSales = map[shop.ID]bool{8: true} }, "sale 8", false},
		"a retired sale": {func(s *fakeStores) {
			s.missingSales, s.now = map[shop.ID]bool{8: true}, shop.Millis(0).Add(shop.RetireAfter)
		}, "", false},
		"behind this node": {func(s *fakeStores) { s.redis.Seen = 91 }, "has seen 91", false},
		"a lost order":     {func(s *fakeStores) { s.missing = []shop.LastOrder{{Order: 55}} }, "order 55", false},
		"a replica was promoted": {func(s *fakeStores) {
			s.redis.History, s.redis.Followed = "def", "abc"
		}, "promoted", false},
		"promoted more than once": {func(s *fakeStores) {
			s.redis.History, s.redis.Followed = "def", "fed"
		}, "promoted", false},
		"promoted long ago":    {func(s *fakeStores) { s.redis.Followed = "fed" }, "", false},
		"a restarted server":   {func(s *fakeStores) { s.redis.History = "def" }, "", false},
		"the first inspection": {func(s *fakeStores) { s.redis.Confirmed, s.redis.Followed = "", "fed" }, "", false},
		"a generation has begun": {func(s *fakeStores) {
			s.redis.Database.Generation, s.redis.Epoch = 1, 3
		}, "", true},
		"a generation has begun, and an older copy": {func(s *fakeStores) {
			s.redis.Database.Generation, s.redis.Seq = 1, 89
		}, "seq 89", true},
	} {
		s := &fakeStores{epoch: 4, seq: 90, redis: intact, loaded: []shop.Sale{{ID: 7}, {ID: 8}}}
		c.change(s)
		f, err := driverOf(s).inspect(t.Context(), 0, currentDatabase)
		if err != nil || f.epoch != 4 || (f.redisLost == "") != (c.wantText == "") ||
			!strings.Contains(f.redisLost, c.wantText) || f.database != c.database {
			t.Errorf("%s: got the finding %+v, %v; want redisLost %q, database %v", name, f, err, c.wantText, c.database)
		}
	}
}

func driverOf(s *fakeStores) *Driver {
	return &Driver{Partitions: 1, Redis: s, Sales: s, Epochs: s}
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

// After Suspect, an inspection finds a sale that was lost after the first inspection.
func TestSuspectChecksAllSalesAgain(t *testing.T) {
	t.Parallel()
	s := &fakeStores{epoch: 4, redis: shop.PartitionState{Exists: true, Epoch: 4}, loaded: []shop.Sale{{ID: 7}}}
	d := driverOf(s)
	wantLost := func(want bool) {
		t.Helper()
		if f, err := d.inspect(t.Context(), 0, currentDatabase); err != nil || f.lost() != want {
			t.Fatalf("got redisLost %q, %v; want lost %v", f.redisLost, err, want)
		}
	}
	wantLost(false)
	s.missingSales = map[shop.ID]bool{7: true}
	wantLost(false) // all sales were found once: the second inspection does not check them
	d.Suspect(0)
	wantLost(true)
}

// I8: a restarted server may sell after an inspection that has checked every loaded sale.
func TestNewHistoryIsConfirmedAfterACheck(t *testing.T) {
	t.Parallel()
	s := &fakeStores{
		epoch: 4, redis: shop.PartitionState{Exists: true, Epoch: 4, History: "abc", Confirmed: "abc"},
		loaded: []shop.Sale{{ID: 7}},
	}
	d := driverOf(s)
	check := func(want string) {
		t.Helper()
		if _, _, err := d.check(t.Context(), 0, currentDatabase); err != nil || s.confirmed != want {
			t.Fatalf("got the confirmed history %q, %v; want %q", s.confirmed, err, want)
		}
	}
	check("")
	s.redis.History = "def"
	check("def")
	s.redis.Confirmed = "def"
	s.redis.History, s.missingSales = "ghi", map[shop.ID]bool{7: true}
	if f, err := d.inspect(t.Context(), 0, currentDatabase); err != nil || !strings.Contains(f.redisLost, "sale 7") {
		t.Fatalf("got redisLost %q, %v; want sale 7", f.redisLost, err)
	}
}

// lostData is a sale whose rows are only in the database.
type lostData struct {
	Redis
	Orders
	Sales
	Epochs
	rows    []shop.Order
	touched []shop.ID
	since   shop.Millis
}

func (l *lostData) OrdersOfSale(context.Context, shop.ID, shop.ID, int) ([]shop.Order, error) {
	return l.rows, nil
}

func (l *lostData) Restore(context.Context, int64, shop.SaleState) error { return nil }
func (l *lostData) SettledWithdrawals(context.Context, shop.ID) ([]shop.StockWithdrawal, error) {
	return nil, nil
}
func (l *lostData) Schedule(context.Context, int, []shop.Deadline) error { return nil }

func (l *lostData) Holds(context.Context, shop.SaleRef, uint64) ([]shop.OpenHold, uint64, error) {
	return nil, 0, nil
}

func (l *lostData) TouchSince(_ context.Context, ids []shop.ID, since shop.Millis) error {
	l.touched, l.since = append(l.touched, ids...), since
	return nil
}

// P6, F3: the entry proves that a new row was published, and the entries are lost. So new rows that may be unpublished
// get a new change time. For later states, the row itself records the publication.
func TestRestoreTouchesNewRows(t *testing.T) {
	t.Parallel()
	data := &lostData{rows: []shop.Order{
		{ID: 1, User: 5, State: shop.Pending, Rev: 1, PublishedRev: 1},
		{ID: 2, User: 6, State: shop.Paid, Rev: 2, PublishedRev: 2},
		{ID: 3, User: 5, State: shop.Refused, Rev: 1, PublishedRev: 1},
		{ID: 4, User: 7, State: shop.Expired, Rev: 2, PublishedRev: 1},
	}}
	p := &recoveryRun{Driver: &Driver{Redis: data, Orders: data, Sales: data, Epochs: data}}
	if err := p.restore(t.Context(), &shop.Sale{ID: 7, Initial: 9}, 4711); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(data.touched, []shop.ID{1, 3}) || data.since != 4711 {
		t.Errorf("got touched orders %v since %d, want 1 and 3 since 4711", data.touched, data.since)
	}
}
