package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// PersonalData removes personal data, on request or by age.
type PersonalData struct{ *session }

// Erasure is a user whose orders are checked until none contains an address.
type Erasure struct {
	User        shop.ID
	RequestedAt shop.Millis
}

// erasureLease is the time that a node has to check the users it claimed.
const erasureLease = time.Minute

// erasureRow is the row of an Erasure.
type erasureRow struct {
	bun.BaseModel `bun:"table:erasures"`

	User        shop.ID      `bun:"user_id,pk"`
	RequestedAt shop.Millis  `bun:"requested_at"`
	NextAt      *shop.Millis `bun:"next_at"`
}

// Erase deletes all data of a user except orders: account data, devices, links, saved addresses. It invalidates access
// tokens; the tokens of a guest are invalid until guestUntil. Addresses in orders are scheduled for blanking. A repeat
// is safe. ErrNoRow: the account is active, and its password differs from the one in `verified`. If `verified` is nil,
// no password is required. WrongState: the account is the last admin who can log in.
func (s PersonalData) Erase(ctx context.Context, user shop.ID, verified *shop.User, now, guestUntil shop.Millis) error {
	return s.inTx(ctx, "erase user "+user.String(), func(tx bun.Conn) error {
		u, err := s.Accounts().lockUser(ctx, tx, user)
		switch {
		case errors.Is(err, sql.ErrNoRows): // a guest
		case err != nil:
			return err
		case verified != nil && u.State == shop.UserActive &&
			(verified.State != u.State || verified.Password != u.Password):
			return shop.ErrNoRow
		}
		if err := s.Accounts().keepAdmin(ctx, tx, &u); err != nil {
			return err
		}
		// A guest has no row and a deleted account stays deleted: in both cases no row matches.
		_, err = exec(ctx, tx, "UPDATE users SET state = ?, email = NULL, name = '', password = NULL, deleted_at = ?"+
			" WHERE id = ? AND state <> ?", shop.UserDeleted, now, user, shop.UserDeleted)
		if err != nil {
			return err
		}
		if _, err := s.Sessions().revokeDevices(ctx, tx, user, 0); err != nil {
			return err
		}
		if err := s.Sessions().revoke(ctx, tx, []shop.ID{user}, guestUntil); err != nil {
			return err
		}
		for _, table := range []string{"devices", "mail_tokens", "addresses"} {
			if _, err := exec(ctx, tx, "DELETE FROM "+table+" WHERE user_id = ?", user); err != nil {
				return err
			}
		}
		_, err = exec(ctx, tx, "INSERT INTO erasures (user_id, requested_at, next_at) VALUES (?, ?, ?) "+s.d.onDuplicate+
			" requested_at = ?, next_at = ?", user, now, now, now, now)
		return err
	})
}

// ClaimErasures claims users whose orders are due for a check. A claim without PlanErasure is due again after
// erasureLease.
func (s PersonalData) ClaimErasures(ctx context.Context, now shop.Millis, limit int) ([]Erasure, error) {
	due := func(db bun.IDB, rows *[]erasureRow) *bun.SelectQuery {
		return db.NewSelect().Model(rows).Where("next_at <= ?", now).Order("next_at", "user_id").Limit(int64(limit))
	}
	rows, err := claimDue(ctx, s.session, "claim erasures", due, func(tx bun.Conn, rows []erasureRow) error {
		ids := convert(rows, func(r *erasureRow) shop.ID { return r.User })
		return execMatching(ctx, tx, len(ids), "postpone erasures", "UPDATE erasures SET next_at = ? WHERE user_id IN (?)",
			now.Add(erasureLease), bun.List(ids))
	})
	return convert(
		rows, func(r *erasureRow) Erasure { return Erasure{User: r.User, RequestedAt: r.RequestedAt} },
	), err
}

// PlanErasure sets the next check of the user's orders; 0: no further check.
func (s PersonalData) PlanErasure(ctx context.Context, user shop.ID, next shop.Millis) error {
	_, err := s.run(ctx, "plan the next check of the orders of user "+user.String(),
		"UPDATE erasures SET next_at = ? WHERE user_id = ?", nullIfZero(next), user)
	return err
}

const (
	// pendingRetention is the time for which an unactivated registration is kept. Its links expire earlier.
	pendingRetention = 7 * 24 * time.Hour
	// endedRetention is the time for which expired devices and links are kept for support requests.
	endedRetention = 7 * 24 * time.Hour
)

// PurgeAccounts deletes registrations that were not activated, and expired devices, links and revocations, as of the
// instant now.
func (s PersonalData) PurgeAccounts(ctx context.Context, now shop.Millis) error {
	for _, purge := range []struct {
		what, statement string
		args            []any
	}{
		{"links", "DELETE FROM mail_tokens WHERE expires_at < ?", []any{now.Add(-endedRetention)}},
		{"logins", "DELETE FROM devices WHERE expires_at < ?", []any{now.Add(-endedRetention)}},
		{"revocations", "DELETE FROM revoked WHERE until < " + s.d.now, nil},
		{
			"registrations", "DELETE FROM users WHERE state = ? AND created_at < ?",
			[]any{shop.UserPending, now.Add(-pendingRetention)},
		},
	} {
		if _, err := s.run(ctx, "delete old "+purge.what, purge.statement, purge.args...); err != nil {
			return err
		}
	}
	return nil
}
