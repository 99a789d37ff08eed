package app

import (
	"context"
	"testing"
)

// settlingWorld has one order that becomes a row, and stops waiting, right after the first look at it.
type settlingWorld struct {
	Ledger
	OrderBook
	looks int
}

func (w *settlingWorld) settled() bool {
	w.looks++
	return w.looks > 1
}

func (w *settlingWorld) Waiting(context.Context, ID) ([]Reservation, error) {
	if w.settled() {
		return nil, nil
	}
	return []Reservation{{Order: 2, Sale: 7}}, nil
}

func (w *settlingWorld) OrdersOf(context.Context, OrdersQuery) ([]Order, bool, error) {
	rows := []Order{{ID: 1, Sale: 7, State: Pending}, {ID: 3, Sale: 7, State: Expired}}
	if w.settled() {
		rows = append(rows, Order{ID: 2, Sale: 7, State: Pending})
	}
	return rows, false, nil
}

// limit_reached names everything that the buyer holds, each once, also what gets its row at this very moment.
func TestLimitReachedNamesAnOrderThatSettlesMeanwhile(t *testing.T) {
	t.Parallel()
	world := &settlingWorld{}
	till := &Till{Ledger: world, Orders: world}
	e := AsError(till.limitReached(context.Background(), &Sale{ID: 7}, 5, "at most 2 per buyer"))
	named := map[ID]int{}
	for _, o := range e.Orders {
		named[o.ID]++
	}
	if len(e.Orders) != 2 || named[1] != 1 || named[2] != 1 {
		t.Errorf("it names %v, want orders 1 and 2", e.Orders)
	}
}
