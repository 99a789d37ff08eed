package kit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

var lastID atomic.Int64

func init() { lastID.Store(time.Now().UnixMicro()) }

// NewID returns an id that no other test and no earlier run has used.
func NewID() shop.ID { return shop.ID(lastID.Add(1)) }

// OpenSlot adds a slot that opened one hour ago and closes in two hours.
func OpenSlot(t testing.TB, to *store.Store) shop.Slot {
	t.Helper()
	now := shop.MillisOf(time.Now())
	slot := shop.Slot{ID: NewID(), OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(2 * time.Hour)}
	if err := to.Catalogue().AddSlots(Context(t), []shop.Slot{slot}); err != nil {
		t.Fatal(err)
	}
	return slot
}

// Offer adds a sale with a new id, a price, and a new product and category.
func Offer(t testing.TB, to *store.Store, sale shop.Sale) shop.Sale {
	t.Helper()
	category := shop.Category{ID: NewID()}
	category.Name = "Things " + category.ID.String()
	sale.Product = shop.Product{
		ID: NewID(), Name: "Lamp", CategoryID: category.ID, ListPriceFen: 9900,
		Images: []shop.Image{{URL: "/products/lamp.svg", Alt: "A lamp"}},
	}
	sale.ID, sale.PriceFen, sale.Version = NewID(), 4900, 1
	ctx := Context(t)
	err := errors.Join(to.Catalogue().AddCategories(ctx, []shop.Category{category}),
		to.Catalogue().AddProducts(ctx, []shop.Product{sale.Product}), to.Sales().AddSales(ctx, []shop.Sale{sale}))
	if err != nil {
		t.Fatal(err)
	}
	return sale
}

// IDs returns the ids that a query selects.
func IDs(t testing.TB, db *sql.DB, query string, args ...any) map[shop.ID]bool {
	t.Helper()
	rows, err := db.QueryContext(Context(t), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	ids := make(map[shop.ID]bool)
	for rows.Next() {
		var id shop.ID
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids[id] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// SaleKey returns the Redis key of a sale's counters, as operators type it.
func SaleKey(sale *shop.Sale) string {
	return fmt.Sprintf("stampede:{%d}:sale:%s", sale.Partition, sale.ID)
}

// Count returns the single number that a query selects; NULL is 0.
func Count(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n sql.NullInt64
	if err := db.QueryRowContext(Context(t), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n.Int64
}

// HTTP closes each connection after its request, so that no connection outlives a test.
var HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 15 * time.Second}

// Ready reports whether /readyz of the node at host:port returns 200.
func Ready(t testing.TB, addr string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := HTTP.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
