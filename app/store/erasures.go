package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app"
)

// erasureRow is app.Erasure as the table has it.
type erasureRow struct {
	bun.BaseModel `bun:"table:erasures"`

	User    app.ID      `bun:"user_id,pk"`
	AskedAt app.Millis  `bun:"asked_at"`
	NextAt  *app.Millis `bun:"next_at"`
}

// Erase deletes what is kept of a user but orders, in one transaction. See app.ErasureStore.
func (s *Store) Erase(ctx context.Context, user app.ID, now, guestUntil app.Millis) error {
	return s.inTx(ctx, "erase user "+user.String(), func(tx bun.Conn) error {
		// A guest has no row, and one that is deleted already stays so: both match nothing.
		_, err := exec(ctx, tx, "UPDATE users SET state = ?, email = NULL, name = '', password = NULL, deleted_at = ?"+
			" WHERE id = ? AND state <> ?", app.UserDeleted, now, user, app.UserDeleted)
		if err != nil {
			return err
		}
		if _, err := s.revokeDevices(ctx, tx, user, 0); err != nil {
			return err
		}
		if err := s.revoke(ctx, tx, []app.ID{user}, guestUntil); err != nil {
			return err
		}
		for _, table := range []string{"devices", "mail_tokens", "addresses"} {
			if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE user_id = ?", user); err != nil {
				return err
			}
		}
		_, err = exec(ctx, tx, "INSERT INTO erasures (user_id, asked_at, next_at) VALUES (?, ?, ?) "+s.d.onTaken+
			" asked_at = ?, next_at = ?", user, now, now, now, now)
		return err
	})
}

// ClaimErasures takes those that are due and puts their next turn off. See app.ErasureStore.
func (s *Store) ClaimErasures(ctx context.Context, now app.Millis, limit int) ([]app.Erasure, error) {
	due := func(db bun.IDB, rows *[]erasureRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "user_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s, "claim erasures", due, func(tx bun.Conn, rows []erasureRow) error {
		if len(rows) == 0 { // another node was faster
			return nil
		}
		ids := convert(rows, func(r *erasureRow) app.ID { return r.User })
		return execMatching(ctx, tx, len(ids), "put them off", "UPDATE erasures SET next_at = ? WHERE user_id IN (?)",
			now.Add(app.ErasureLease), bun.List(ids))
	})
	return convert(rows, func(r *erasureRow) app.Erasure { return app.Erasure{User: r.User, AskedAt: r.AskedAt} }), err
}

// over tells of an order that no goods and no money will move any more. One that ended while its payment was opened may
// still be paid late, and is sent then: it is over when the gateway's last word is known.
const over = "(o.state IN ('finished', 'refused', 'refunded')" +
	" OR (o.state IN ('cancelled', 'expired') AND o.trade_no = ''" +
	" AND NOT EXISTS (SELECT 1 FROM trades t WHERE t.order_id = o.id AND t.check_at IS NOT NULL)))"

// BlankAddresses takes addresses out of orders that are over. Which they are is read before anything is locked, so that
// the lock of an order never waits for that of a trade; the state is looked at once more. See app.ErasureStore.
func (s *Store) BlankAddresses(ctx context.Context, user app.ID) (blanked, left int64, err error) {
	what := "blank addresses of user " + user.String()
	for {
		var ids []app.ID
		err := s.db.NewRaw("SELECT o.id FROM orders o WHERE o.user_id = ? AND o.address IS NOT NULL AND "+over+
			" ORDER BY o.id LIMIT ?", user, idsAtOnce).Scan(ctx, &ids)
		if err != nil {
			return blanked, 0, wrap(what, err)
		}
		n, err := inTx(ctx, s, what, func(tx bun.Conn) (int64, error) {
			if len(ids) == 0 {
				return 0, nil
			}
			return exec(ctx, tx, "UPDATE orders SET address = NULL, "+unstamped+" WHERE id IN (?) AND user_id = ?"+
				" AND address IS NOT NULL AND state IN ('finished', 'refused', 'refunded', 'cancelled', 'expired')",
				bun.List(ids), user)
		})
		if err != nil {
			return blanked, 0, err
		}
		blanked += n
		if n == 0 || len(ids) < idsAtOnce { // what was not changed has become something else meanwhile
			break
		}
	}
	archived, err := s.blankArchived(ctx, user) // after orders: what moves meanwhile is found there
	if err != nil {
		return blanked, 0, err
	}
	err = s.db.NewRaw("SELECT COUNT(*) FROM orders WHERE user_id = ? AND address IS NOT NULL", user).Scan(ctx, &left)
	return blanked + archived, left, wrap(what, err)
}

// blankArchived takes addresses out of a user's orders in the archive, all of which are over.
func (s *Store) blankArchived(ctx context.Context, user app.ID) (blanked int64, err error) {
	what := "blank addresses of archived orders of user " + user.String()
	for {
		var ids []app.ID
		err := s.db.NewRaw("SELECT id FROM orders_archive WHERE user_id = ? AND address IS NOT NULL ORDER BY id LIMIT ?",
			user, idsAtOnce).Scan(ctx, &ids)
		if err != nil || len(ids) == 0 {
			return blanked, wrap(what, err)
		}
		n, err := inTx(ctx, s, what, func(tx bun.Conn) (int64, error) {
			return exec(ctx, tx, "UPDATE orders_archive SET address = NULL WHERE id IN (?) AND address IS NOT NULL",
				bun.List(ids))
		})
		if blanked += n; err != nil || n == 0 {
			return blanked, err
		}
	}
}

// PlanErasure says when orders are looked at next. See app.ErasureStore.
func (s *Store) PlanErasure(ctx context.Context, user app.ID, next app.Millis) error {
	return s.inTx(ctx, "plan the next look at the orders of user "+user.String(), func(tx bun.Conn) error {
		_, err := exec(ctx, tx, "UPDATE erasures SET next_at = ? WHERE user_id = ?", unlessZero(next), user)
		return err
	})
}
