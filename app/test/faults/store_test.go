package faults

import (
	"context"
	"errors"
	"slices"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// A transaction is named after the store method that the flow called, not after the methods that this method calls.
func TestTransactionsAreNamedAfterTheirMethods(t *testing.T) {
	t.Parallel()
	s := kit.SQLite(t)
	var names []string
	s.WrapTransaction = Transactions(func(_ context.Context, name string, call func() error) error {
		names = append(names, name)
		return call()
	})
	sale := kit.Offer(t, s, shop.Sale{Slot: kit.OpenSlot(t, s).ID, Initial: 1, Limit: 1, Cap: 1})
	_, err := s.Orders().Insert(t.Context(), 0, []shop.NewOrder{
		{ID: kit.NewID(), Sale: sale.ID, User: 1, Qty: 1, Key: "key-1234"},
	})
	if !errors.Is(err, shop.ErrStaleEpoch) && err != nil {
		t.Error(err)
	}
	want := []string{"Catalogue.AddSlots", "Catalogue.AddCategories", "Catalogue.AddProducts", "Sales.AddSales", "Orders.Insert"}
	if got := slices.Compact(names); !slices.Equal(got, want) {
		t.Errorf("the transactions are %q, want %q", got, want)
	}
}
