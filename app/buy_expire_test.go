package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// dueStore has orders whose deadline has come.
type dueStore struct {
	OrderStore
	*trace
	rows []Order
	err  error // Expire answers it instead of committing
}

func (b *dueStore) Expire(context.Context, []ID, Millis) ([]Order, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.add("commit %d", len(b.rows))
	for i := range b.rows {
		b.rows[i].Stamped = b.rows[i].ToldRev < b.rows[i].Rev
	}
	return b.rows, nil
}

func (b *dueStore) Cancel(context.Context, ID, ID, Millis) (Order, error) {
	if b.err != nil {
		return Order{}, b.err
	}
	b.add("commit 1")
	b.rows[0].Stamped = true
	return b.rows[0], nil
}

func (b *dueStore) Order(_ context.Context, id ID) (Order, error) {
	for _, o := range b.rows {
		if o.ID == id {
			return o, nil
		}
	}
	return Order{}, ErrNoRow
}

func (b *dueStore) OrdersByID(context.Context, []ID) ([]Order, error) { return b.rows, nil }

func newTestExpirer(rows ...Order) (*Expirer, *dueStore, *fakeInventory, *fakeNotifier) {
	tr := &trace{}
	book, inventory, notifier := &dueStore{trace: tr, rows: rows}, &fakeInventory{trace: tr, now: 1_000_000},
		&fakeNotifier{trace: tr}
	return &Expirer{Inventory: inventory, Orders: book, Effects: effectsOf(inventory, book, notifier)}, book, inventory,
		notifier
}

// I1, I3, P5: the row is committed, then its units go back to be sold, then the buyer hears of it. An order that is not
// over keeps its units and its deadline; one that was paid has them counted as sold, should a crash have left that
// undone.
func TestUnitsGoBackAfterTheCommitOfTheirRow(t *testing.T) {
	t.Parallel()
	x, book, inventory, _ := newTestExpirer(
		Order{ID: 1, Sale: 7, State: Expired, Hold: 3, Rev: 2, ToldRev: 1},
		Order{ID: 2, Sale: 7, State: Pending, Hold: 1, Rev: 1, ToldRev: 1},
		Order{ID: 3, Sale: 7, State: Paid, Hold: 1, Rev: 2, ToldRev: 2})
	finished, err := x.Due(context.Background(), 0, []ID{1, 2, 3})
	if err != nil || !slices.Equal(finished, []ID{1, 3}) {
		t.Fatalf("finished %v, %v", finished, err)
	}
	if want := []string{"commit 3", "return 1", "sell 1", "tell 1"}; !slices.Equal(book.steps, want) {
		t.Fatalf("steps %v, want %v", book.steps, want)
	}
	if r := inventory.returned[0]; r.Order != 1 || r.Hold != 3 || r.Burn {
		t.Fatalf("returned %+v", r)
	}
}

// I1, I6: as long as the database has not said that an order is over, nothing of it is sold again.
func TestUnknownCommitReturnsNothing(t *testing.T) {
	t.Parallel()
	x, book, inventory, _ := newTestExpirer(Order{ID: 1, Sale: 7, User: 9, State: Pending, Hold: 1, Rev: 1, ToldRev: 1})
	book.err = ErrTransient
	if _, err := x.Due(context.Background(), 0, []ID{1}); !errors.Is(err, ErrTransient) {
		t.Errorf("due: %v", err)
	}
	if _, err := x.Cancel(context.Background(), 9, 1); !errors.Is(err, ErrTransient) || AsError(err).Code != Busy {
		t.Errorf("cancel: %v", err)
	}
	if len(inventory.returned) != 0 || len(book.steps) != 0 {
		t.Fatalf("steps %v", book.steps)
	}
}

// beforeItsRow is an order that is a reservation yet: what is inserted, and under which epoch.
type beforeItsRow struct {
	OrderStore
	epoch int64
	row   Order
}

func (b *beforeItsRow) Cancel(context.Context, ID, ID, Millis) (Order, error) {
	return Order{}, ErrNoRow
}

func (b *beforeItsRow) Insert(_ context.Context, epoch int64, rows []NewOrder) ([]Inserted, error) {
	b.epoch, b.row = epoch, rows[0]
	return nil, ErrStaleEpoch
}

// P2: an order that stopped waiting between the two reads has a row. When the row cannot be read, nobody knows whether
// there is one, so its buyer is not told that there is none.
func TestOrderThatBecomesARowIsNotMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  Order
		err  error
		want Code
	}{
		"there is none":       {err: ErrNoRow, want: NotFound},
		"another user's":      {row: Order{ID: 1, User: 8}, want: NotFound},
		"its row is there":    {row: Order{ID: 1, User: 9}, want: Busy},
		"the database is cut": {err: ErrTransient, want: Busy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orders := &lateRow{row: c.row, err: c.err}
			inventory := &fakeInventory{trace: &trace{}, now: 1_000_000}
			x := &Expirer{Inventory: inventory, Orders: orders, Reader: &OrderReader{Orders: orders}}
			if _, err := x.Cancel(context.Background(), 9, 1); AsError(err).Code != c.want {
				t.Errorf("cancelling: %v, want %s", err, c.want)
			}
		})
	}
}

// lateRow is an order whose row was not there when it was to be changed; afterwards it reads as given.
type lateRow struct {
	beforeItsRow
	row Order
	err error
}

func (r *lateRow) Order(context.Context, ID) (Order, error) { return r.row, r.err }

type reservedInventory struct {
	*fakeInventory
	waiting Reservation
}

func (l reservedInventory) Waiting(context.Context, ID) ([]Reservation, error) {
	return []Reservation{l.waiting}, nil
}

// P2, I8: the row of a cancelled reservation is written under the epoch of the reservation, so that none appears once a
// rebuild has begun: it would be missing in what is restored. Whoever cancels then is told to try again.
func TestCancelledReservationKeepsItsEpoch(t *testing.T) {
	t.Parallel()
	book := &beforeItsRow{}
	inventory := reservedInventory{
		&fakeInventory{trace: &trace{}, now: 1_000_000}, Reservation{
			Order: 1, Sale: 7, Entry: Entry{Order: 1, User: 9, Sale: 7, Epoch: 4, Seq: 90},
		},
	}
	x := &Expirer{
		Inventory: inventory, Orders: book, Reader: &OrderReader{Catalogue: NewCatalogue(oneSale{}, nil, time.UTC)},
	}
	_, err := x.Cancel(context.Background(), 9, 1)
	if AsError(err).Code != Busy || book.epoch != 4 || book.row.State != Cancelled {
		t.Errorf("%s at epoch %d: %v", book.row.State, book.epoch, err)
	}
	if len(inventory.returned) != 0 {
		t.Errorf("returned %v", inventory.returned)
	}
}
