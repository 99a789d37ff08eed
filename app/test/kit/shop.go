package kit

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app"
)

var lastID atomic.Int64

func init() { lastID.Store(time.Now().UnixMicro()) }

// NewID is an id that no other test and no earlier run has used.
func NewID() app.ID { return app.ID(lastID.Add(1)) }

// SaleKey is the Redis key of a sale's numbers, as operators type it.
func SaleKey(sale *app.Sale) string {
	return fmt.Sprintf("stampede:{%d}:sale:%s", sale.Partition, sale.ID)
}

// Count asks the database for one number; NULL is 0.
func Count(t testing.TB, db *sql.DB, query string, args ...any) int64 {
	t.Helper()
	var n sql.NullInt64
	if err := db.QueryRowContext(Context(t), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n.Int64
}

// HTTP keeps no connection open, so that nothing outlives a test.
var HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 15 * time.Second}

// Ready reports whether the node at host:port says that it is ready.
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
