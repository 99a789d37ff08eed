package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// salesAtOnce is how many rows of sales one statement changes; SQLite takes a union of 500 parts at most.
const salesAtOnce = 250

// SaveSales writes what an operator can edit. Stock, and archived before the end of a sale, change only while the sale
// is not in Redis; the statement checks it, because loading takes no lock of acts.
func (s *Store) SaveSales(ctx context.Context, sales ...SaleRecord) error {
	return s.edit(ctx, fmt.Sprintf("save %d sales", len(sales)), func(tx bun.Conn) error {
		// All transactions lock rows of sales in the order of their ids.
		edits := slices.Clone(sales)
		slices.SortFunc(edits, func(a, b SaleRecord) int { return cmp.Compare(a.ID, b.ID) })
		for some := range slices.Chunk(edits, salesAtOnce) {
			if err := s.saveSales(ctx, tx, some); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) saveSales(ctx context.Context, tx bun.Conn, edits []SaleRecord) error {
	// The former limit is remembered: buyers under it have not broken the new one. This is a statement of its own,
	// because one that changes rows by a table of values may assign its columns in any order.
	_, err := exec(ctx, tx, "UPDATE sales SET limit_max = "+s.d.greatest+"(limit_max, buyer_limit) WHERE id IN (?)",
		bun.List(convert(edits, func(e *SaleRecord) shop.ID { return e.ID })))
	if err != nil {
		return err
	}
	var values strings.Builder
	values.WriteString("SELECT ? AS row_id, ? AS of_version, ? AS to_price, ? AS to_initial, ? AS to_limit, ? AS to_cap," +
		" ? AS to_open, ? AS to_close, ? AS to_challenge, ? AS to_position, ? AS to_archive")
	values.WriteString(strings.Repeat(" UNION ALL SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", len(edits)-1))
	args := make([]any, 0, 11*len(edits)+1)
	for i := range edits {
		e := &edits[i]
		args = append(args, e.ID, e.Version, e.PriceFen, e.Initial, e.Limit, e.Cap,
			e.OpensAt, e.ClosesAt, e.Challenge, e.Position, e.ArchivedAt)
	}
	n, err := exec(ctx, tx, fmt.Sprintf(s.d.byValues, values.String(),
		fmt.Sprintf("price_fen = to_price, initial = to_initial, buyer_limit = to_limit, buyer_cap = to_cap,"+
			" opens_at = to_open, closes_at = to_close, challenge = to_challenge, position = to_position,"+
			" archived_at = to_archive, updated_at = %d, version = version + 1", wallClock()),
		"version = of_version AND (epoch = 0 OR initial = to_initial AND (archived_at = to_archive OR closes_at <= to_archive))"), args...)
	if err != nil {
		return err
	}
	if n != int64(len(edits)) {
		return shop.Fail(shop.WrongState, "the sale was loaded into Redis meanwhile: its stock can be added to or withdrawn from")
	}
	return nil
}
