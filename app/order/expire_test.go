package order

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

func newTestExpirer(rows ...shop.Order) (*Expirer, *fakes.DueStore, *fakes.Redis, *fakes.Notifier) {
	tr := &fakes.Trace{}
	dueStore, inventory, notifier := &fakes.DueStore{Trace: tr, Rows: rows}, &fakes.Redis{Trace: tr, At: 1_000_000},
		&fakes.Notifier{Trace: tr}
	return &Expirer{
			Stock: inventory, Store: dueStore,
			Effects: effectsOf(inventory, dueStore, notifier),
		}, dueStore, inventory,
		notifier
}

// I1, I3, P5: the row is committed, then its units are returned, then the buyer is notified. An unexpired order keeps
// its units and its deadline. The units of a paid order become sold, even if a crash has interrupted this step before.
func TestUnitsAreReturnedAfterTheCommit(t *testing.T) {
	t.Parallel()
	x, dueStore, inventory, _ := newTestExpirer(
		shop.Order{ID: 1, Sale: 7, State: shop.Expired, Hold: 3, Rev: 2, PublishedRev: 1},
		shop.Order{ID: 2, Sale: 7, State: shop.Pending, Hold: 1, Rev: 1, PublishedRev: 1},
		shop.Order{ID: 3, Sale: 7, State: shop.Paid, Hold: 1, Rev: 2, PublishedRev: 2})
	finished, err := x.Due(context.Background(), 0, []shop.ID{1, 2, 3})
	if err != nil || !slices.Equal(finished, []shop.ID{1, 3}) {
		t.Fatalf("got finished orders %v and error %v, want orders 1 and 3", finished, err)
	}
	if want := []string{"commit 3", "return 1", "sell 1", "publish 1"}; !slices.Equal(dueStore.Steps, want) {
		t.Fatalf("got steps %v, want %v", dueStore.Steps, want)
	}
	if r := inventory.Returned[0]; r.Order != 1 || r.Hold != 3 || r.Burn {
		t.Fatalf("got return %+v, want order 1 with hold 3 and without Burn", r)
	}
}

// I3, P8: a sweep that finds an ended order again keeps the hold that a late payment may have taken for it.
func TestSweepKeepsTheHoldOfARevivingOrder(t *testing.T) {
	t.Parallel()
	x, _, inventory, _ := newTestExpirer(
		shop.Order{ID: 1, Sale: 7, State: shop.Expired, Hold: 2, TradeNo: "T", Rev: 2, PublishedRev: 2},
	)
	finished, err := x.Due(context.Background(), 0, []shop.ID{1})
	if err != nil || !slices.Equal(finished, []shop.ID{1}) || len(inventory.Returned) != 0 {
		t.Fatalf("got finished %v, returned %v, %v; want order 1 finished and no hold returned", finished, inventory.Returned, err)
	}
}

// I1, I6: while the commit of an order's end is unknown, its units are not returned.
func TestUnknownCommitReturnsNoUnits(t *testing.T) {
	t.Parallel()
	x, dueStore, inventory, _ := newTestExpirer(
		shop.Order{ID: 1, Sale: 7, User: 9, State: shop.Pending, Hold: 1, Rev: 1, PublishedRev: 1},
	)
	dueStore.Err = shop.ErrTransient
	if _, err := x.Due(context.Background(), 0, []shop.ID{1}); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("Due: got error %v, want ErrTransient", err)
	}
	if _, err := x.Cancel(context.Background(), 9, 1); !errors.Is(err, shop.ErrTransient) ||
		shop.AsError(err).Code != shop.Busy {
		t.Errorf("Cancel: got error %v, want ErrTransient with busy", err)
	}
	if len(inventory.Returned) != 0 || len(dueStore.Steps) != 0 {
		t.Fatalf("got steps %v and returns %v, want none", dueStore.Steps, inventory.Returned)
	}
}

// cancelStore has an order without a row. It records the inserted row and its epoch.
type cancelStore struct {
	Store
	epoch int64
	row   shop.Order
}

func (c *cancelStore) Cancel(context.Context, shop.ID, shop.ID, shop.Millis) (shop.Order, error) {
	return shop.Order{}, shop.ErrNoRow
}

func (c *cancelStore) Insert(_ context.Context, epoch int64, rows []shop.NewOrder) ([]shop.Inserted, error) {
	c.epoch, c.row = epoch, rows[0]
	return nil, shop.ErrStaleEpoch
}

// P2: an order that stopped waiting between the two reads has a row. If the row is unreadable, its existence is
// unknown, so the buyer does not receive NotFound.
func TestCancelFindsAnOrderThatJustGotItsRow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  shop.Order
		err  error
		want shop.Code
	}{
		"no reservation":              {err: shop.ErrNoRow, want: shop.NotFound},
		"an order of another user":    {row: shop.Order{ID: 1, User: 8}, want: shop.NotFound},
		"the row exists":              {row: shop.Order{ID: 1, User: 9}, want: shop.Busy},
		"the database is unreachable": {err: shop.ErrTransient, want: shop.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orders := &rowStore{row: c.row, err: c.err}
			inventory := &fakes.Redis{Trace: &fakes.Trace{}, At: 1_000_000}
			reader := &Reader{Stock: inventory, Queue: inventory, Store: orders}
			x := &Expirer{Stock: inventory, Store: orders, Reader: reader}
			if _, err := x.Cancel(context.Background(), 9, 1); shop.AsError(err).Code != c.want {
				t.Errorf("Cancel: got error %v, want %s", err, c.want)
			}
		})
	}
}

// rowStore has an order without a row when Cancel is called. Later reads return row and err.
type rowStore struct {
	cancelStore
	row shop.Order
	err error
}

func (r *rowStore) Order(context.Context, shop.ID) (shop.Order, error) { return r.row, r.err }

func (*rowStore) Checking(context.Context, shop.ID) ([]shop.Order, error) { return nil, nil }

type reservedInventory struct {
	*fakes.Redis
	waiting shop.Reservation
}

func (r reservedInventory) Waiting(context.Context, shop.ID) ([]shop.Reservation, error) {
	return []shop.Reservation{r.waiting}, nil
}

// P2, I8: the row of a cancelled reservation is written with the epoch of the reservation. After a recovery has begun,
// such a row is rejected, because the recovery would not restore its reservation. The cancelling buyer receives Busy.
func TestCancelledReservationKeepsItsEpoch(t *testing.T) {
	t.Parallel()
	dueStore := &cancelStore{}
	inventory := reservedInventory{
		&fakes.Redis{Trace: &fakes.Trace{}, At: 1_000_000}, shop.Reservation{
			Order: 1, Sale: 7, Entry: shop.Entry{Order: 1, User: 9, Sale: 7, Epoch: 4, Seq: 90},
		},
	}
	x := &Expirer{
		Stock: inventory, Store: dueStore, Reader: &Reader{
			Catalogue: catalog.NewCatalogue(oneSale{}, oneSale{}, nil, time.UTC), Stock: inventory, Queue: inventory,
			Store: dueStore,
		},
	}
	_, err := x.Cancel(context.Background(), 9, 1)
	if shop.AsError(err).Code != shop.Busy || dueStore.epoch != 4 || dueStore.row.State != shop.Cancelled {
		t.Errorf("got state %s at epoch %d, error %v; want cancelled at epoch 4 and busy", dueStore.row.State, dueStore.epoch, err)
	}
	if len(inventory.Returned) != 0 {
		t.Errorf("got returns %v, want none", inventory.Returned)
	}
}
