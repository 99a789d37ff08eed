package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// ClaimHold raises the hold number of an order that is in the state given. See app.OrderStore.
func (s *Store) ClaimHold(ctx context.Context, order app.ID, in app.OrderState) (app.Order, error) {
	var out app.Order
	err := s.inTx(ctx, "claim a hold for order "+order.String(), func(tx bun.Conn) error {
		all, err := s.lockOrders(ctx, tx, []app.ID{order})
		if err != nil {
			return err
		}
		if len(all) == 0 || all[0].State != in {
			return app.ErrNoRow
		}
		out = all[0]
		out.Hold++
		return execMatching(ctx, tx, 1, "raise its hold",
			"UPDATE orders SET hold = hold + 1, "+unstamped+" WHERE id = ?", order)
	})
	return out, err
}

// Revive makes a refused order pending again under the hold number that was claimed for it, with the buyer's texts as
// they are given. ErrNoRow: it is not refused with that hold any more. ErrPermanent: the sale has no units left for it,
// or the texts cannot be stored. ErrStaleEpoch: the sale is not at that epoch any more. See app.OrderStore.
func (s *Store) Revive(ctx context.Context, claimed app.Order, epoch int64, payBy app.Millis) (app.Order, error) {
	out := claimed
	err := s.inTx(ctx, "revive order "+claimed.ID.String(), func(tx bun.Conn) error {
		all, err := s.lockOrders(ctx, tx, []app.ID{claimed.ID})
		if err != nil {
			return err
		}
		if len(all) == 0 || all[0].State != app.Refused || all[0].Hold != claimed.Hold {
			return app.ErrNoRow
		}
		out.State, out.Reason, out.PayBy, out.Rev = app.Pending, "", payBy, all[0].Rev+1
		out.Stamped = true
		row, err := newRow(&out)
		if err != nil {
			return err
		}
		err = execMatching(ctx, tx, 1, "flip it",
			"UPDATE orders SET state = ?, reason = '', pay_by = ?, rev = rev + 1, untold_since = ?,"+
				" idem_key = ?, content_hash = ?, product_name = ?, address = ? WHERE id = ?",
			row.State, row.PayBy, wallClock(), row.Key, row.ContentHash, row.ProductName, row.Address, row.ID)
		if err != nil {
			return err
		}
		return s.takeAgain(ctx, tx, &out, epoch)
	})
	if err != nil {
		return app.Order{}, err
	}
	return out, nil
}
