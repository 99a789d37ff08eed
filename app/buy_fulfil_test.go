package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// trace records in which order the flow touched the world.
type trace struct{ steps []string }

func (tr *trace) add(format string, args ...any) {
	tr.steps = append(tr.steps, fmt.Sprintf(format, args...))
}

// faultyStore inserts into memory, and fails where a test wants it to.
type faultyStore struct {
	OrderStore
	*trace
	poison    map[ID]bool // orders that fail with ErrPermanent
	transient error       // returned instead of anything else
	turn      map[ID]Order
	sizes     []int
	marked    []*Order
	within    time.Duration // of the last insert: how long it may take
}

func (b *faultyStore) Insert(ctx context.Context, _ int64, rows []NewOrder) ([]Inserted, error) {
	b.sizes = append(b.sizes, len(rows))
	if until, ok := ctx.Deadline(); ok {
		b.within = time.Until(until)
	}
	if b.transient != nil {
		return nil, b.transient
	}
	for _, r := range rows {
		if b.poison[r.ID] && (r.State != Refused || r.Address != nil) {
			return nil, fmt.Errorf("insert: %w", ErrPermanent)
		}
	}
	b.add("commit %d", len(rows))
	inserted := make([]Inserted, len(rows))
	for i, r := range rows {
		r.ToldRev = r.Rev
		r.Stamped = true
		inserted[i] = Inserted{Order: r, Fresh: true}
		if other, ok := b.turn[r.ID]; ok {
			inserted[i] = Inserted{Order: other}
		}
	}
	return inserted, nil
}

func (b *faultyStore) MarkTold(_ context.Context, told []*Order) error {
	b.marked = append(b.marked, told...)
	return nil
}

func (b *faultyStore) Restamp(_ context.Context, ids []ID) ([]Order, error) {
	b.add("stamp %d", len(ids))
	rows := make([]Order, len(ids))
	for i, id := range ids {
		rows[i] = b.turn[id]
		rows[i].ID, rows[i].Stamped = id, true
	}
	return rows, nil
}

type fakeInventory struct {
	Inventory
	*trace
	returned []Return
	now      Millis
	notifier *fakeNotifier // hears what Finish tells
	late     int           // so many calls of Finish come too late
}

func (l *fakeInventory) Now(context.Context) (Millis, error) { return l.now, nil }

func (l *fakeInventory) Schedule(_ context.Context, _ int, d []Deadline) error {
	l.add("deadline %d", len(d))
	return nil
}

func (l *fakeInventory) Finish(_ context.Context, _ int, _ Millis, rows []*Order, entries []*Entry) error {
	if l.late > 0 {
		l.late--
		return ErrTooLate
	}
	l.add("finish %d of %d", len(rows), len(entries))
	l.notifier.told = append(l.notifier.told, rows...)
	return nil
}

func (l *fakeInventory) Return(_ context.Context, r []Return) ([]bool, error) {
	l.add("return %d", len(r))
	l.returned = append(l.returned, r...)
	return make([]bool, len(r)), nil
}

type fakeNotifier struct {
	*trace
	told []*Order
	late int // so many calls come too late
}

func (f *fakeNotifier) Publish(_ context.Context, _ int, _ Millis, rows []*Order) error {
	if f.late > 0 {
		f.late--
		return ErrTooLate
	}
	f.add("tell %d", len(rows))
	f.told = append(f.told, rows...)
	return nil
}

// effectsOf are the effects on fakes that share a trace.
func effectsOf(inventory Inventory, orders OrderStore, notifier Notifier) *Effects {
	return &Effects{Inventory: inventory, Notifier: notifier, Orders: orders, Told: &Told{Orders: orders}}
}

type oneSale struct{ CatalogueStore }

func (oneSale) Sale(_ context.Context, id ID) (Sale, error) {
	return Sale{ID: id, Product: Product{Name: "Lamp"}}, nil
}

func newTestFulfiller() (*Fulfiller, *faultyStore, *fakeInventory, *fakeNotifier) {
	tr := &trace{}
	book := &faultyStore{trace: tr, poison: map[ID]bool{}, turn: map[ID]Order{}}
	notifier := &fakeNotifier{trace: tr}
	inventory := &fakeInventory{trace: tr, now: 1_000_000, notifier: notifier}
	return &Fulfiller{
		Catalogue: NewCatalogue(oneSale{}, nil, time.UTC), Inventory: inventory, Orders: book,
		Effects: effectsOf(inventory, book, notifier), PayWindow: time.Minute,
	}, book, inventory, notifier
}

func entries(n int) []Entry {
	list := make([]Entry, n)
	for i := range list {
		list[i] = Entry{
			Order: ID(i + 1), Sale: 7, User: ID(100 + i), Epoch: 3, Qty: 1, PriceFen: 500, Hold: 1,
			Ticket: int64(i + 1), Key: "key-00000",
		}
	}
	return list
}

// I4: commit, then deadlines, message and acknowledgement in one step.
func TestFulfilKeepsTheOrderThatMakesCrashesHarmless(t *testing.T) {
	t.Parallel()
	f, book, _, notifier := newTestFulfiller()
	verdicts, err := f.Fulfil(context.Background(), entries(3))
	if err != nil || slices.ContainsFunc(verdicts, func(e error) bool { return e != nil }) {
		t.Fatal(verdicts, err)
	}
	if want := []string{"commit 3", "finish 3 of 3"}; !slices.Equal(book.steps, want) {
		t.Fatalf("steps %v, want %v", book.steps, want)
	}
	if o := notifier.told[0]; o.PayBy != 1_060_000 || o.State != Pending || o.ProductName != "Lamp" ||
		o.AmountFen != 500 {
		t.Fatalf("told %+v", o)
	}
}

// I10: an insert that hangs is given up while half of the time to pay is left, and begun anew with a new deadline.
func TestFulfilGivesUpWhileThereIsTimeToPay(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	must(t, errOf(f.Fulfil(context.Background(), entries(1))))
	if book.within <= 0 || book.within > f.PayWindow/2 {
		t.Errorf("the insert may take %v of a pay window of %v, want half of it", book.within, f.PayWindow)
	}
}

// P2: one entry that can never be stored does not keep the others back, and only it is blamed.
func TestFulfilHalvesUntilTheBadEntryStandsAlone(t *testing.T) {
	t.Parallel()
	f, book, _, notifier := newTestFulfiller()
	book.poison[6] = true
	verdicts, err := f.Fulfil(context.Background(), entries(16))
	must(t, err)
	for i, v := range verdicts {
		if blamed := v != nil; blamed != (i == 5) {
			t.Errorf("entry %d: verdict %v", i, v)
		}
		if v != nil && !errors.Is(v, ErrPermanent) {
			t.Errorf("entry %d: want ErrPermanent, got %v", i, v)
		}
	}
	if len(notifier.told) != 15 {
		t.Errorf("%d told, want 15", len(notifier.told))
	}
	if len(book.sizes) > 9 { // 16, then two halves each of four times
		t.Errorf("%d inserts for one bad entry of 16: %v", len(book.sizes), book.sizes)
	}
}

// P2: a transient fault blames nobody, whatever the entries are.
func TestFulfilBlamesNobodyForAFaultOfTheMoment(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	book.poison[1] = true
	book.transient = fmt.Errorf("server has gone away: %w", ErrTransient)
	verdicts, err := f.Fulfil(context.Background(), entries(4))
	if verdicts != nil || !errors.Is(err, ErrTransient) {
		t.Fatalf("verdicts %v, err %v", verdicts, err)
	}
	if len(book.sizes) != 1 {
		t.Errorf("halving does not help against a transient fault, but it was tried: %v", book.sizes)
	}
}

// I2: a unit that the guard refused is burnt; a refusal for other reasons returns it.
func TestFulfilBurnsWhatTheGuardRefused(t *testing.T) {
	t.Parallel()
	f, book, inventory, _ := newTestFulfiller()
	book.turn[1] = Order{ID: 1, Sale: 7, State: Refused, Reason: ReasonGuard, Hold: 1, Rev: 1}
	book.turn[2] = Order{ID: 2, Sale: 7, State: Refused, Reason: ReasonKey, Hold: 1, Rev: 1}
	book.turn[3] = Order{ID: 3, Sale: 7, State: Cancelled, Hold: 1, Rev: 2, ToldRev: 2}
	must(t, errOf(f.Fulfil(context.Background(), entries(4))))
	burnt := map[ID]bool{}
	for _, r := range inventory.returned {
		burnt[r.Order] = r.Burn
	}
	if len(burnt) != 2 || !burnt[1] || burnt[2] {
		t.Fatalf("returned %+v", inventory.returned)
	}
	if want := []string{"commit 4", "return 2", "stamp 2", "finish 3 of 4"}; !slices.Equal(book.steps, want) {
		t.Fatalf("steps %v, want %v (what is done about the cancelled order, its flow owes)", book.steps, want)
	}
}

// Dead letters: the refused row is written even when the buyer's texts cannot be stored.
func TestRefuseFallsBackToARowWithoutTexts(t *testing.T) {
	t.Parallel()
	f, book, inventory, notifier := newTestFulfiller()
	book.poison[1] = true
	e := entries(1)[0]
	e.Address = `{"name":"a","phone":"1","text":"x"}`
	must(t, f.Refuse(context.Background(), e, ReasonDead))
	o := notifier.told[0]
	if o.State != Refused || o.Reason != ReasonDead || o.Address != nil || len(inventory.returned) != 1 ||
		inventory.returned[0].Burn {
		t.Fatalf("told %+v, returned %+v", o, inventory.returned)
	}
}

// An entry whose id belongs to another order gets no row: its refusal is published, its unit goes back, and no row is
// read.
func TestRefuseWithoutARowWhenTheIDIsTaken(t *testing.T) {
	t.Parallel()
	f, book, inventory, notifier := newTestFulfiller()
	book.transient = ErrIDTaken
	e := entries(1)[0]
	must(t, f.Refuse(context.Background(), e, ReasonDead))
	if want := []string{"return 1", "finish 1 of 0"}; !slices.Equal(book.steps, want) || len(book.sizes) != 1 {
		t.Fatalf("steps %v, want %v", book.steps, want)
	}
	if o := notifier.told[0]; o.State != Refused || o.User != e.User || len(book.marked) != 0 ||
		inventory.returned[0].Hold != e.Hold || inventory.returned[0].Sale.ID != e.Sale || inventory.returned[0].Burn {
		t.Fatalf("told %+v, returned %+v, marked %v", o, inventory.returned, book.marked)
	}
}

func TestUnreadableEntriesAreDataFaults(t *testing.T) {
	t.Parallel()
	f, _, _, _ := newTestFulfiller()
	list := entries(2)
	list[0].Bad = errors.New("field qty: \"x\"")
	verdicts, err := f.Fulfil(context.Background(), list)
	if err != nil || !errors.Is(verdicts[0], ErrPermanent) || verdicts[1] != nil {
		t.Fatal(verdicts, err)
	}
}

// P6, F2: an entry that comes again is told again, because nobody knows whether it was, and its row is stamped anew, so
// that whoever was away since finds it. What was told of a later state is not repeated.
func TestRedeliveryTellsAgain(t *testing.T) {
	t.Parallel()
	f, book, _, notifier := newTestFulfiller()
	book.turn[2] = Order{ID: 2, Sale: 7, State: Pending, Hold: 1, Rev: 1, ToldRev: 1}
	book.turn[3] = Order{ID: 3, Sale: 7, State: Expired, Hold: 1, Rev: 2, ToldRev: 2}
	must(t, errOf(f.Fulfil(context.Background(), entries(3))))
	wantSteps(t, book.trace, "commit 3", "stamp 1", "finish 2 of 3")
	for _, o := range notifier.told {
		if !o.Stamped {
			t.Errorf("told of order %s, which nobody stamped", o.ID)
		}
	}
	if err := f.Effects.Told.RunOnce(context.Background()); err != nil || len(book.marked) != 0 {
		t.Errorf("%d rows were marked, %v; the entry is mark enough", len(book.marked), err)
	}
}

// F2: rows that were stamped too long ago are stamped anew before they are told, of a batch and of a later state.
func TestTooLateIsStampedAnew(t *testing.T) {
	t.Parallel()
	f, book, inventory, notifier := newTestFulfiller()
	inventory.late = 1
	must(t, errOf(f.Fulfil(context.Background(), entries(2))))
	wantSteps(t, book.trace, "commit 2", "stamp 2", "finish 2 of 2")
	book.steps, notifier.late = nil, 1
	paid := &Order{ID: 9, Sale: 7, State: Refused, Rev: 2, ToldRev: 1, Stamped: true}
	book.turn[9] = *paid
	must(t, f.Effects.Tell(context.Background(), 1, []*Order{paid}))
	wantSteps(t, book.trace, "stamp 1", "tell 1")
}

// Marks of later states are grouped, and kept when the database fails.
func TestToldMarksAreGroupedAndKept(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	for id := range ID(3) {
		book.turn[id+1] = Order{ID: id + 1, Sale: 7, State: Expired, Hold: 1, Rev: 2, ToldRev: 1}
	}
	must(t, errOf(f.Fulfil(context.Background(), entries(3))))
	if err := f.Effects.Told.RunOnce(context.Background()); err != nil || len(book.marked) != 3 {
		t.Fatalf("marked %d, %v", len(book.marked), err)
	}
	if err := f.Effects.Told.RunOnce(context.Background()); err != nil || len(book.marked) != 3 {
		t.Fatalf("marked twice: %d, %v", len(book.marked), err)
	}
}
