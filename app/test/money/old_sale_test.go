package money

import (
	"errors"
	"fmt"

	"stampede/app/shop"
)

// closeLongAgo sets the closing time of a sale to the distant past, and waits until the sale has left Redis.
func (w *world) closeLongAgo(n *node, sale shop.ID) {
	w.t.Helper()
	w.exec("UPDATE sales SET opens_at = 500, closes_at = 1000 WHERE id = ?", sale)
	w.must(w.client.HSet(w.ctx, fmt.Sprintf("stampede:{0}:sale:%s", sale), "closes", 1000).Err())
	w.retry("the sale is removed from Redis", func() error {
		w.must(n.reconciler.RunOnce(n.ctx))
		if !w.retired(sale) {
			return errors.New("the sale is in Redis")
		}
		return nil
	})
}

func (w *world) retired(sale shop.ID) bool {
	w.t.Helper()
	var at int64
	w.must(w.db.DB().NewRaw("SELECT retired_at FROM sales WHERE id = ?", sale).Scan(w.ctx, &at))
	return at != 0
}
