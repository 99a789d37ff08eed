package app

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// sightings is what the stores say of partition 0; whatever a rebuild would do ends with a panic.
type sightings struct {
	SaleStore
	Rebuilder
	Inventory
	epoch, seq int64
	redis      PartitionState
	loaded     []Sale
	absent     map[ID]bool
	unknown    []Witness // to Redis
	confirmed  string
	now        Millis
}

func (s *sightings) Now(context.Context) (Millis, error) { return s.now, nil }

func (s *sightings) PartitionEpoch(context.Context, int) (epoch, seq int64, err error) {
	return s.epoch, s.seq, nil
}

func (s *sightings) State(context.Context, int) (PartitionState, error) { return s.redis, nil }

func (s *sightings) Witnesses(context.Context, int) ([]Witness, error) { return nil, nil }

func (s *sightings) Lacks(context.Context, int, int64, []Witness) ([]Witness, error) {
	return s.unknown, nil
}

func (s *sightings) Confirm(_ context.Context, _ int, state PartitionState) error {
	s.confirmed = state.History
	return nil
}

func (s *sightings) SetEpoch(int, int64) {}

func (s *sightings) LoadedSales(context.Context, int) ([]Sale, error) { return s.loaded, nil }

func (s *sightings) Counters(_ context.Context, sales []SaleRef) ([]Counters, error) {
	found := make([]Counters, len(sales))
	for i, ref := range sales {
		found[i] = Counters{Sale: ref.ID, Loaded: !s.absent[ref.ID]}
	}
	return found, nil
}

// I7, I8: a Redis that has lost anything that anybody knows of is never trusted: not with another epoch, not behind
// the highest seq of a row or of this node, not without an order that was accepted, not without its stream, not without
// a sale that was loaded; and not after a replica was promoted, whatever it has.
func TestLostWritesAreNoticed(t *testing.T) {
	t.Parallel()
	fine := PartitionState{Exists: true, Epoch: 4, Seq: 90, Seen: 80, History: "abc", Confirmed: "abc"}
	for name, c := range map[string]struct {
		change func(s *sightings)
		says   string // "": all is well
	}{
		"nothing lost":             {func(*sightings) {}, ""},
		"rows not yet written":     {func(s *sightings) { s.redis.Seq = 95 }, ""},
		"everything lost":          {func(s *sightings) { s.redis = PartitionState{} }, "nothing of it"},
		"a rebuild was broken off": {func(s *sightings) { s.redis.Rebuilding = true }, "did not finish"},
		"an older copy":            {func(s *sightings) { s.redis.Seq = 89 }, "seq 89"},
		"a copy from before":       {func(s *sightings) { s.redis.Epoch = 3 }, "epoch 3"},
		"of another database":      {func(s *sightings) { s.redis.Epoch = 5 }, "epoch 5"},
		"one sale lost":            {func(s *sightings) { s.absent = map[ID]bool{8: true} }, "sale 8"},
		"one sale was let go": {func(s *sightings) {
			s.absent, s.now = map[ID]bool{8: true}, Millis(0).Add(retireAfter)
		}, ""},
		"behind this node":        {func(s *sightings) { s.redis.Seen = 91 }, "has seen 91"},
		"caught up by others":     {func(s *sightings) { s.unknown = []Witness{{Order: 55}} }, "order 55"},
		"a replica was promoted":  {func(s *sightings) { s.redis.History, s.redis.Followed = "def", "abc" }, "promoted"},
		"promoted more than once": {func(s *sightings) { s.redis.History, s.redis.Followed = "def", "fed" }, "promoted"},
		"promoted long ago":       {func(s *sightings) { s.redis.Followed = "fed" }, ""},
		"started again":           {func(s *sightings) { s.redis.History = "def" }, ""},
		"first look of all":       {func(s *sightings) { s.redis.Confirmed, s.redis.Followed = "", "fed" }, ""},
	} {
		s := &sightings{epoch: 4, seq: 90, redis: fine, loaded: []Sale{{ID: 7}, {ID: 8}}}
		c.change(s)
		r := &Rebuild{Partitions: 1, Redis: s, Inventory: s, Sales: s}
		f, err := r.look(context.Background(), 0)
		if err != nil || f.epoch != 4 || (f.why == "") != (c.says == "") || !strings.Contains(f.why, c.says) {
			t.Errorf("%s: a rebuild because %q, epoch %d, %v; want %q", name, f.why, f.epoch, err, c.says)
		}
	}
}

// A sale that goes missing later is looked for again once somebody suspects it.
func TestSuspicionLooksForEverySaleAgain(t *testing.T) {
	t.Parallel()
	s := &sightings{epoch: 4, redis: PartitionState{Exists: true, Epoch: 4}, loaded: []Sale{{ID: 7}}}
	r := &Rebuild{Partitions: 1, Redis: s, Inventory: s, Sales: s}
	ask := func(want bool) {
		t.Helper()
		f, err := r.look(context.Background(), 0)
		if err != nil || (f.why != "") != want {
			t.Fatalf("a rebuild because %q, %v; wanted: %v", f.why, err, want)
		}
	}
	ask(false)
	s.absent = map[ID]bool{7: true}
	ask(false) // all were seen once: not asked every time
	r.Suspect(0)
	ask(true)
}

// I8: a server that was started again may sell once somebody has looked, at every loaded sale, too.
func TestNewHistoryIsConfirmedAfterALook(t *testing.T) {
	t.Parallel()
	s := &sightings{
		epoch: 4, redis: PartitionState{Exists: true, Epoch: 4, History: "abc", Confirmed: "abc"},
		loaded: []Sale{{ID: 7}},
	}
	r := &Rebuild{Partitions: 1, Redis: s, Inventory: s, Sales: s}
	check := func(want string) {
		t.Helper()
		if err := r.Check(context.Background(), 0); err != nil || s.confirmed != want {
			t.Fatalf("confirmed %q, %v; want %q", s.confirmed, err, want)
		}
	}
	check("")
	s.redis.History = "def"
	check("def")
	s.redis.Confirmed = "def"
	s.redis.History, s.absent = "ghi", map[ID]bool{7: true}
	if f, err := r.look(context.Background(), 0); err != nil || !strings.Contains(f.why, "sale 7") {
		t.Fatalf("a rebuild because %q, %v; sale 7 is missing", f.why, err)
	}
}

// lostHouse is a sale whose rows are known to the database alone.
type lostHouse struct {
	SaleStore
	OrderStore
	Rebuilder
	Inventory
	rows    []Order
	stamped []ID
	since   Millis
}

func (l *lostHouse) OrdersOfSale(_ context.Context, _, after ID, limit int) ([]Order, error) {
	from := slices.IndexFunc(l.rows, func(o Order) bool { return o.ID > after })
	if from < 0 {
		return nil, nil
	}
	return l.rows[from:min(from+limit, len(l.rows))], nil
}

func (l *lostHouse) Restore(context.Context, int64, SaleState) error   { return nil }
func (l *lostHouse) StockActs(context.Context, ID) ([]StockAct, error) { return nil, nil }
func (l *lostHouse) Schedule(context.Context, int, []Deadline) error   { return nil }

func (l *lostHouse) RestampSince(_ context.Context, ids []ID, since Millis) error {
	l.stamped, l.since = append(l.stamped, ids...), since
	return nil
}

// P6, F3: that a new row was told is known only from its entry, and the entries are lost. So the rebuild stamps those
// anew that may not have been told; of later states the rows say themselves what was told.
func TestRebuildStampsNewRowsAnew(t *testing.T) {
	t.Parallel()
	house := &lostHouse{rows: []Order{
		{ID: 1, User: 5, State: Pending, Rev: 1, ToldRev: 1},
		{ID: 2, User: 6, State: Paid, Rev: 2, ToldRev: 2},
		{ID: 3, User: 5, State: Refused, Rev: 1, ToldRev: 1},
		{ID: 4, User: 7, State: Expired, Rev: 2, ToldRev: 1},
	}}
	r := &Rebuild{Partitions: 1, Redis: house, Inventory: house, Sales: house, Orders: house}
	if err := r.restore(context.Background(), 0, &Sale{ID: 7}, 4711); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(house.stamped, []ID{1, 3}) || house.since != 4711 {
		t.Errorf("stamped %v since %d, want 1 and 3 since 4711", house.stamped, house.since)
	}
}

// notes are which partitions are noted as to be redone; those in away cannot be.
type notes struct {
	Rebuilder
	away, noted map[int]bool
}

func (n *notes) NoteDatabase(_ context.Context, partition int, history string) error {
	if n.away[partition] {
		return ErrTransient
	}
	n.noted[partition] = history == forgetful
	return nil
}

// P2: a database that has forgotten an epoch of one partition is redone in all of them, also while one is away; its own
// is not gone on with unless that was noted.
func TestForgottenEpochIsRedoneEverywhere(t *testing.T) {
	t.Parallel()
	for away, failed := range map[int]bool{9: false, 2: false, 1: true} {
		n := &notes{away: map[int]bool{away: true}, noted: make(map[int]bool)}
		r := &Rebuild{Partitions: 3, Redis: n}
		if err := r.distrust(t.Context(), 1); (err != nil) != failed {
			t.Errorf("partition %d is away: %v", away, err)
		}
		for p := range 3 {
			if want := p != away && !failed; n.noted[p] != want {
				t.Errorf("partition %d is away: a redo of %d asked for: %v, want %v", away, p, n.noted[p], want)
			}
		}
	}
}
