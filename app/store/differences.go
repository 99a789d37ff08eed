package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Differences keeps the differences between the shop and the gateway, and the progress of the comparison with the
// gateway's lists. It implements payment.Differences.
type Differences struct{ *session }

// differenceRow is the row of a payment.PayDifference.
type differenceRow struct {
	bun.BaseModel `bun:"table:differences"`

	Order   shop.ID     `bun:"order_id,pk"`
	Kind    string      `bun:"kind,pk"`
	Message string      `bun:"message"`
	FoundAt shop.Millis `bun:"found_at"`
}

// maxDifference is the width of differences.message.
const maxDifference = 400

// Progress returns the progress of the comparison.
func (s Differences) Progress(ctx context.Context) (p payment.ListingProgress, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT listed_until, listing_at, doubt_until FROM history").
		Scan(&p.Until, &p.At, &p.DoubtUntil)
	return p, wrap("read the progress of the comparison", err)
}

// Claim claims the comparison after the one that began at `last`. false: another node has claimed it.
func (s Differences) Claim(ctx context.Context, last, now shop.Millis) (bool, error) {
	matched, err := s.run(ctx, "claim a comparison", "UPDATE history SET listing_at = ? WHERE listing_at = ?", now, last)
	return matched > 0, err
}

// Orders lists the orders with differences.
func (s Differences) Orders(ctx context.Context) (ids []shop.ID, err error) {
	err = s.db.NewRaw("SELECT DISTINCT order_id FROM differences ORDER BY order_id").Scan(ctx, &ids)
	return ids, wrap("list orders with differences", err)
}

// Save replaces the differences of the compared orders, and records that the lists were compared until an instant.
func (s Differences) Save(
	ctx context.Context, compared []shop.ID, found []payment.PayDifference, until, now shop.Millis,
) error {
	return s.inTx(ctx, "save differences", func(tx bun.Conn) error {
		for chunk := range sortedChunks(compared) {
			if _, err := exec(ctx, tx, "DELETE FROM differences WHERE order_id IN (?)", bun.List(chunk)); err != nil {
				return err
			}
		}
		for _, d := range found {
			_, err := exec(ctx, tx, "INSERT INTO differences (order_id, kind, message, found_at) VALUES (?, ?, ?, ?) "+
				s.d.onDuplicate+" message = differences.message", d.Order, d.Kind, clip(d.Message, maxDifference), now)
			if err != nil {
				return err
			}
		}
		_, err := exec(ctx, tx, "UPDATE history SET listed_until = "+s.d.greatest+"(listed_until, ?)", until)
		return err
	})
}

// List returns the oldest differences, at most limit.
func (s Differences) List(ctx context.Context, limit int) ([]payment.PayDifference, error) {
	var rows []differenceRow
	err := s.db.NewSelect().Model(&rows).Order("found_at", "order_id", "kind").Limit(int64(limit)).Scan(ctx)
	return convert(rows, func(r *differenceRow) payment.PayDifference {
		return payment.PayDifference{Order: r.Order, Kind: r.Kind, Message: r.Message}
	}), wrap("list differences", err)
}

// Count returns the number of orders with differences.
func (s Differences) Count(ctx context.Context) (n int64, err error) {
	err = s.db.NewRaw("SELECT COUNT(DISTINCT order_id) FROM differences").Scan(ctx, &n)
	return n, wrap("count differences", err)
}
