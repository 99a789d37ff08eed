package order

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// faultyStore inserts into memory and fails on demand.
type faultyStore struct {
	Store
	*fakes.Trace
	failing   map[shop.ID]bool // orders whose insert fails with ErrPermanent
	transient error            // returned by each insert; nil: none
	existing  map[shop.ID]shop.Order
	sizes     []int
	marked    []*shop.Order
	within    time.Duration // remaining time until the deadline of the last insert
}

func (f *faultyStore) Insert(ctx context.Context, _ int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	f.sizes = append(f.sizes, len(rows))
	if until, ok := ctx.Deadline(); ok {
		f.within = time.Until(until)
	}
	if f.transient != nil {
		return nil, f.transient
	}
	for _, r := range rows {
		if f.failing[r.ID] && (r.State != shop.Refused || r.Address != nil) {
			return nil, fmt.Errorf("insert: %w", shop.ErrPermanent)
		}
	}
	f.Add("commit %d", len(rows))
	inserted := make([]shop.Inserted, len(rows))
	for i, r := range rows {
		r.PublishedRev = r.Rev
		r.Touched = true
		inserted[i] = shop.Inserted{Order: r, Fresh: true}
		if other, ok := f.existing[r.ID]; ok {
			inserted[i] = shop.Inserted{Order: other}
		}
	}
	return inserted, nil
}

func (f *faultyStore) MarkPublished(_ context.Context, published []*shop.Order) error {
	f.marked = append(f.marked, published...)
	return nil
}

func (f *faultyStore) Touch(_ context.Context, ids []shop.ID) ([]shop.Order, error) {
	f.Add("touch %d", len(ids))
	rows := make([]shop.Order, len(ids))
	for i, id := range ids {
		rows[i] = f.existing[id]
		rows[i].ID, rows[i].Touched = id, true
	}
	return rows, nil
}

// stockAndQueue is a fake of both ports of Redis.
type stockAndQueue interface {
	Stock
	Queue
}

// effectsOf returns effects on fakes that share a trace.
func effectsOf(inventory stockAndQueue, orders Store, notifier Notifier) *Effects {
	return &Effects{
		Stock: inventory, Queue: inventory, Notifier: notifier, Store: orders,
		PublishMarks: &PublishMarks{Store: orders},
	}
}

type oneSale struct {
	catalog.CatalogueStore
	catalog.SaleStore
}

func (oneSale) Sale(_ context.Context, id shop.ID) (shop.Sale, error) {
	return shop.Sale{ID: id, Product: shop.Product{Name: "Lamp"}}, nil
}

func newTestFulfiller() (*Fulfiller, *faultyStore, *fakes.Redis, *fakes.Notifier) {
	tr := &fakes.Trace{}
	faulty := &faultyStore{Trace: tr, failing: map[shop.ID]bool{}, existing: map[shop.ID]shop.Order{}}
	notifier := &fakes.Notifier{Trace: tr}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000, Published: notifier}
	return &Fulfiller{
		Catalogue: catalog.NewCatalogue(oneSale{}, oneSale{}, nil, time.UTC), Stock: inventory, Store: faulty,
		Effects: effectsOf(inventory, faulty, notifier), PayWindow: time.Minute,
	}, faulty, inventory, notifier
}

func newEntries(n int) []shop.Entry {
	list := make([]shop.Entry, n)
	for i := range list {
		list[i] = shop.Entry{
			Order: shop.ID(i + 1), Sale: 7, User: shop.ID(100 + i), Epoch: 3, Qty: 1, PriceFen: 500, Hold: 1,
			Ticket: int64(i + 1), Key: "key-00000",
		}
	}
	return list
}

// I4: commit, then deadlines, message and acknowledgement in one step.
func TestFulfilCommitsBeforeItPublishes(t *testing.T) {
	t.Parallel()
	f, faulty, _, notifier := newTestFulfiller()
	verdicts, err := f.Fulfil(context.Background(), newEntries(3))
	if err != nil || slices.ContainsFunc(verdicts, func(e error) bool { return e != nil }) {
		t.Fatal(verdicts, err)
	}
	if want := []string{"commit 3", "finish 3 of 3"}; !slices.Equal(faulty.Steps, want) {
		t.Fatalf("got steps %v, want %v", faulty.Steps, want)
	}
	if o := notifier.Published[0]; o.PayBy != 1_060_000 || o.State != shop.Pending || o.ProductName != "Lamp" ||
		o.AmountFen != 500 {
		t.Fatalf("got event %+v, want a pending order of a Lamp for 500 fen, pay_by 1060000", o)
	}
}

// I10: a stalled insert is cancelled while half of the time to pay remains, and is repeated with a new deadline.
func TestStalledInsertIsCancelledAtHalfThePayWindow(t *testing.T) {
	t.Parallel()
	f, faulty, _, _ := newTestFulfiller()
	fakes.Must(t, fakes.ErrOf(f.Fulfil(context.Background(), newEntries(1))))
	if faulty.within <= 0 || faulty.within > f.PayWindow/2 {
		t.Errorf("got a time limit of %v for the insert, want half of the pay window %v", faulty.within, f.PayWindow)
	}
}

// P2: an entry that can never be stored does not delay the others. Only it gets the permanent fault.
func TestFulfilIsolatesTheBadEntry(t *testing.T) {
	t.Parallel()
	f, faulty, _, notifier := newTestFulfiller()
	faulty.failing[6] = true
	verdicts, err := f.Fulfil(context.Background(), newEntries(16))
	fakes.Must(t, err)
	for i, v := range verdicts {
		if isBad := v != nil; isBad != (i == 5) {
			t.Errorf("entry %d: got verdict %v, want an error only for entry 5", i, v)
		}
		if v != nil && !errors.Is(v, shop.ErrPermanent) {
			t.Errorf("entry %d: got verdict %v, want ErrPermanent", i, v)
		}
	}
	if len(notifier.Published) != 15 {
		t.Errorf("got %d published orders, want 15", len(notifier.Published))
	}
	if len(faulty.sizes) > 9 { // 16, then two halves in each of four steps
		t.Errorf("got %d inserts for one bad entry of 16, want at most 9: %v", len(faulty.sizes), faulty.sizes)
	}
}

// P2: a transient fault gives no entry a verdict.
func TestTransientFaultCountsAgainstNoEntry(t *testing.T) {
	t.Parallel()
	f, faulty, _, _ := newTestFulfiller()
	faulty.failing[1] = true
	faulty.transient = fmt.Errorf("server has gone away: %w", shop.ErrTransient)
	verdicts, err := f.Fulfil(context.Background(), newEntries(4))
	if verdicts != nil || !errors.Is(err, shop.ErrTransient) {
		t.Fatalf("got verdicts %v and error %v, want no verdicts and ErrTransient", verdicts, err)
	}
	if len(faulty.sizes) != 1 {
		t.Errorf("got batches of %v, want one batch: a transient fault does not split it", faulty.sizes)
	}
}

// I2: units that the stock guard rejected are burnt. A refusal for other reasons returns them.
func TestFulfilBurnsUnitsThatTheGuardRejected(t *testing.T) {
	t.Parallel()
	f, faulty, inventory, _ := newTestFulfiller()
	faulty.existing[1] = shop.Order{ID: 1, Sale: 7, State: shop.Refused, Reason: shop.ReasonGuard, Hold: 1, Rev: 1}
	faulty.existing[2] = shop.Order{ID: 2, Sale: 7, State: shop.Refused, Reason: shop.ReasonKey, Hold: 1, Rev: 1}
	faulty.existing[3] = shop.Order{ID: 3, Sale: 7, State: shop.Cancelled, Hold: 1, Rev: 2, PublishedRev: 2}
	fakes.Must(t, fakes.ErrOf(f.Fulfil(context.Background(), newEntries(4))))
	burnt := map[shop.ID]bool{}
	for _, r := range inventory.Returned {
		burnt[r.Order] = r.Burn
	}
	if len(burnt) != 2 || !burnt[1] || burnt[2] {
		t.Fatalf("got returns %+v, want order 1 with Burn and order 2 without", inventory.Returned)
	}
	if want := []string{"commit 4", "return 2", "touch 2", "finish 3 of 4"}; !slices.Equal(faulty.Steps, want) {
		t.Fatalf("got steps %v, want %v (the effects of the cancelled order belong to its own flow)", faulty.Steps, want)
	}
}

// Dead letters: the refused row is written even if the buyer's texts cannot be stored.
func TestRefuseWritesARowWithoutTexts(t *testing.T) {
	t.Parallel()
	f, faulty, inventory, notifier := newTestFulfiller()
	faulty.failing[1] = true
	e := newEntries(1)[0]
	e.Address = `{"name":"a","phone":"1","text":"x"}`
	fakes.Must(t, f.Refuse(context.Background(), e, shop.ReasonDead))
	o := notifier.Published[0]
	if o.State != shop.Refused || o.Reason != shop.ReasonDead || o.Address != nil || o.InsertedAt != inventory.At ||
		len(inventory.Returned) != 1 || inventory.Returned[0].Burn {
		t.Fatalf("got event %+v and returns %+v, want an order refused now without address, and one return", o,
			inventory.Returned)
	}
}

// An entry whose ID belongs to another order gets no row: its refusal is published, its unit is returned, and no row is
// read.
func TestRefuseWritesNoRowIfTheIDIsTaken(t *testing.T) {
	t.Parallel()
	f, faulty, inventory, notifier := newTestFulfiller()
	faulty.transient = shop.ErrIDTaken
	e := newEntries(1)[0]
	fakes.Must(t, f.Refuse(context.Background(), e, shop.ReasonDead))
	if want := []string{"return 1", "finish 1 of 0"}; !slices.Equal(faulty.Steps, want) || len(faulty.sizes) != 1 {
		t.Fatalf("got steps %v, want %v", faulty.Steps, want)
	}
	if o := notifier.Published[0]; o.State != shop.Refused || o.User != e.User || len(faulty.marked) != 0 ||
		inventory.Returned[0].Hold != e.Hold || inventory.Returned[0].Sale.ID != e.Sale || inventory.Returned[0].Burn {
		t.Fatalf("got event %+v, returns %+v and marks %v, want a refused order, one return, no mark", o,
			inventory.Returned, faulty.marked)
	}
}

func TestUnreadableEntriesAreDataFaults(t *testing.T) {
	t.Parallel()
	f, _, _, _ := newTestFulfiller()
	list := newEntries(2)
	list[0].ParseErr = errors.New("field qty: \"x\"")
	verdicts, err := f.Fulfil(context.Background(), list)
	if err != nil || !errors.Is(verdicts[0], shop.ErrPermanent) || verdicts[1] != nil {
		t.Fatal(verdicts, err)
	}
}

// P6, F2: a redelivered entry is published again, because its first publication is unknown. Its row gets a new change
// timestamp, so that reconnecting clients find it. A later state that was already published is not repeated.
func TestRedeliveredEntryIsPublishedAgain(t *testing.T) {
	t.Parallel()
	f, faulty, _, notifier := newTestFulfiller()
	faulty.existing[2] = shop.Order{ID: 2, Sale: 7, State: shop.Pending, Hold: 1, Rev: 1, PublishedRev: 1}
	faulty.existing[3] = shop.Order{ID: 3, Sale: 7, State: shop.Expired, Hold: 1, Rev: 2, PublishedRev: 2}
	fakes.Must(t, fakes.ErrOf(f.Fulfil(context.Background(), newEntries(3))))
	fakes.WantSteps(t, faulty.Trace, "commit 3", "touch 1", "finish 2 of 3")
	for _, o := range notifier.Published {
		if !o.Touched {
			t.Errorf("order %s was published without a new change time", o.ID)
		}
	}
	if err := f.Effects.PublishMarks.RunOnce(context.Background()); err != nil || len(faulty.marked) != 0 {
		t.Errorf("got %d marked rows and error %v, want none: the entry serves as the mark", len(faulty.marked), err)
	}
}

// F2: rows with an old change timestamp get a new timestamp before they are published, in a batch and for a later
// state.
func TestLateRowsAreTouchedBeforePublication(t *testing.T) {
	t.Parallel()
	f, faulty, inventory, notifier := newTestFulfiller()
	inventory.Late = 1
	fakes.Must(t, fakes.ErrOf(f.Fulfil(context.Background(), newEntries(2))))
	fakes.WantSteps(t, faulty.Trace, "commit 2", "touch 2", "finish 2 of 2")
	faulty.Steps, notifier.Late = nil, 1
	paid := &shop.Order{ID: 9, Sale: 7, State: shop.Refused, Rev: 2, PublishedRev: 1, Touched: true}
	faulty.existing[9] = *paid
	fakes.Must(t, f.Effects.Publish(context.Background(), 1, []*shop.Order{paid}))
	fakes.WantSteps(t, faulty.Trace, "touch 1", "publish 1")
}

// Marks of published later states are written in one batch, and no mark is written twice.
func TestPublishMarksAreGroupedAndKept(t *testing.T) {
	t.Parallel()
	f, faulty, _, _ := newTestFulfiller()
	for id := range shop.ID(3) {
		faulty.existing[id+1] = shop.Order{ID: id + 1, Sale: 7, State: shop.Expired, Hold: 1, Rev: 2, PublishedRev: 1}
	}
	fakes.Must(t, fakes.ErrOf(f.Fulfil(context.Background(), newEntries(3))))
	if err := f.Effects.PublishMarks.RunOnce(context.Background()); err != nil || len(faulty.marked) != 3 {
		t.Fatalf("got %d marked rows and error %v, want 3", len(faulty.marked), err)
	}
	if err := f.Effects.PublishMarks.RunOnce(context.Background()); err != nil || len(faulty.marked) != 3 {
		t.Fatalf("after the second run: got %d marked rows and error %v, want 3", len(faulty.marked), err)
	}
}
