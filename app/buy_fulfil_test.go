package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	poison map[ID]bool // orders that fail with ErrPermanent
	moment error       // returned instead of anything else
	turn   map[ID]Order
	sizes  []int
	told   []OrderEvent
	within time.Duration // of the last insert: how long it may take
}

func (b *faultyStore) Insert(ctx context.Context, _ int64, rows []NewOrder) ([]Inserted, error) {
	b.sizes = append(b.sizes, len(rows))
	if until, ok := ctx.Deadline(); ok {
		b.within = time.Until(until)
	}
	if b.moment != nil {
		return nil, b.moment
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
		inserted[i] = Inserted{Order: r, Fresh: true}
		if other, ok := b.turn[r.ID]; ok {
			inserted[i] = Inserted{Order: other}
		}
	}
	return inserted, nil
}

func (b *faultyStore) MarkTold(_ context.Context, told []OrderEvent) error {
	b.told = append(b.told, told...)
	return nil
}

type fakeInventory struct {
	Inventory
	*trace
	returned []Return
	now      Millis
}

func (l *fakeInventory) Now(context.Context) (Millis, error) { return l.now, nil }

func (l *fakeInventory) Schedule(_ context.Context, _ int, d []Deadline) error {
	l.add("deadline %d", len(d))
	return nil
}

func (l *fakeInventory) Return(_ context.Context, r []Return) ([]bool, error) {
	l.add("return %d", len(r))
	l.returned = append(l.returned, r...)
	return make([]bool, len(r)), nil
}

type fakeNotifier struct {
	*trace
	told []OrderEvent
}

func (f *fakeNotifier) Tell(_ context.Context, e []OrderEvent) error {
	f.add("event %d", len(e))
	f.told = append(f.told, e...)
	return nil
}

type oneSale struct{ CatalogueSource }

func (oneSale) Sale(_ context.Context, id ID) (Sale, error) {
	return Sale{ID: id, Product: Product{Name: "Lamp"}}, nil
}

func newTestFulfiller() (*Fulfiller, *faultyStore, *fakeInventory, *fakeNotifier) {
	tr := &trace{}
	book := &faultyStore{trace: tr, poison: map[ID]bool{}, turn: map[ID]Order{}}
	inventory := &fakeInventory{trace: tr, now: 1_000_000}
	notifier := &fakeNotifier{trace: tr}
	return &Fulfiller{
		Catalogue: NewCatalogue(oneSale{}, nil, time.UTC), Inventory: inventory, Orders: book, Notifier: notifier,
		Told: &Told{Orders: book}, PayWindow: time.Minute,
	}, book, inventory, notifier
}

func entries(n int) []Entry {
	list := make([]Entry, n)
	for i := range list {
		list[i] = Entry{Order: ID(i + 1), Sale: 7, User: ID(100 + i), Epoch: 3, Qty: 1, PriceFen: 500, Hold: 1, Ticket: int64(i + 1), Key: "key-00000"}
	}
	return list
}

// I4: commit, then deadline, then event; the acknowledgement is the consumer's and comes after all of them.
func TestFulfilKeepsTheOrderThatMakesCrashesHarmless(t *testing.T) {
	t.Parallel()
	f, book, _, notifier := newTestFulfiller()
	verdicts, err := f.Fulfil(context.Background(), entries(3))
	if err != nil || slices.ContainsFunc(verdicts, func(e error) bool { return e != nil }) {
		t.Fatal(verdicts, err)
	}
	if want := []string{"commit 3", "deadline 3", "event 3"}; !slices.Equal(book.steps, want) {
		t.Fatalf("steps %v, want %v", book.steps, want)
	}
	if o := notifier.told[0].Order; o.PayBy != 1_060_000 || o.State != Pending || o.ProductName != "Lamp" || o.AmountFen != 500 {
		t.Fatalf("told %+v", o)
	}
}

// I10: an insert that hangs is given up while half of the time to pay is left, and begun anew with a new deadline.
func TestFulfilGivesUpWhileThereIsTimeToPay(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	if _, err := f.Fulfil(context.Background(), entries(1)); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	book.moment = fmt.Errorf("server has gone away: %w", ErrTransient)
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
	if _, err := f.Fulfil(context.Background(), entries(4)); err != nil {
		t.Fatal(err)
	}
	burnt := map[ID]bool{}
	for _, r := range inventory.returned {
		burnt[r.Order] = r.Burn
	}
	if len(burnt) != 3 || !burnt[1] || burnt[2] || burnt[3] {
		t.Fatalf("returned %+v", inventory.returned)
	}
	if want := []string{"commit 4", "return 3", "deadline 1", "event 3"}; !slices.Equal(book.steps, want) {
		t.Fatalf("steps %v, want %v (the cancelled order was told already)", book.steps, want)
	}
}

// Dead letters: the refused row is written even when the buyer's texts cannot be stored.
func TestRefuseFallsBackToARowWithoutTexts(t *testing.T) {
	t.Parallel()
	f, book, inventory, notifier := newTestFulfiller()
	book.poison[1] = true
	e := entries(1)[0]
	e.Address = `{"name":"a","phone":"1","text":"x"}`
	if err := f.Refuse(context.Background(), e, ReasonDead); err != nil {
		t.Fatal(err)
	}
	o := notifier.told[0].Order
	if o.State != Refused || o.Reason != ReasonDead || o.Address != nil || len(inventory.returned) != 1 || inventory.returned[0].Burn {
		t.Fatalf("told %+v, returned %+v", o, inventory.returned)
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

// P6: an entry that comes again is told again, because nobody knows whether it was; only who wrote the row tells of it
// for the first time. What was told of a later state is not repeated.
func TestRedeliveryTellsAgain(t *testing.T) {
	t.Parallel()
	f, book, _, notifier := newTestFulfiller()
	book.turn[2] = Order{ID: 2, Sale: 7, State: Pending, Hold: 1, Rev: 1, ToldRev: 1}
	book.turn[3] = Order{ID: 3, Sale: 7, State: Expired, Hold: 1, Rev: 2, ToldRev: 2}
	if _, err := f.Fulfil(context.Background(), entries(3)); err != nil {
		t.Fatal(err)
	}
	first := map[ID]bool{}
	for _, e := range notifier.told {
		first[e.Order.ID] = e.First
	}
	if want := (map[ID]bool{1: true, 2: false}); !maps.Equal(first, want) {
		t.Errorf("told (order: for the first time) %v, want %v", first, want)
	}
	if err := f.Told.RunOnce(context.Background()); err != nil || len(book.told) != 0 {
		t.Errorf("%d rows were marked, %v; the entry is mark enough", len(book.told), err)
	}
}

// Marks of later states are grouped, and kept when the database fails.
func TestToldMarksAreGroupedAndKept(t *testing.T) {
	t.Parallel()
	f, book, _, _ := newTestFulfiller()
	for id := range ID(3) {
		book.turn[id+1] = Order{ID: id + 1, Sale: 7, State: Expired, Hold: 1, Rev: 2, ToldRev: 1}
	}
	if _, err := f.Fulfil(context.Background(), entries(3)); err != nil {
		t.Fatal(err)
	}
	if err := f.Told.RunOnce(context.Background()); err != nil || len(book.told) != 3 {
		t.Fatalf("marked %d, %v", len(book.told), err)
	}
	if err := f.Told.RunOnce(context.Background()); err != nil || len(book.told) != 3 {
		t.Fatalf("marked twice: %d, %v", len(book.told), err)
	}
}
