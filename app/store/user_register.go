package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

const (
	// maxMailTokens limits the valid links of one kind per account. A link therefore stays valid after two later
	// requests, even if another person sends them.
	maxMailTokens = 3
	// activationRepeatWindow is how long a repeated activation, whose reply was lost, returns the same result. The
	// result grants no access.
	activationRepeatWindow = time.Minute
)

// mailTokenRow is the row of a shop.MailToken.
type mailTokenRow struct {
	bun.BaseModel `bun:"table:mail_tokens"`

	Hash      string             `bun:"hash,pk"`
	User      shop.ID            `bun:"user_id"`
	Kind      shop.MailTokenKind `bun:"kind"`
	ExpiresAt shop.Millis        `bun:"expires_at"`
	UsedAt    *shop.Millis       `bun:"used_at"`
}

// Register writes a pending account with its tokens. It replaces pending registrations of the same email and their
// tokens. ErrTaken: the email has an account.
func (s Accounts) Register(ctx context.Context, u shop.User, tokens ...shop.MailToken) error {
	return s.inTx(ctx, "register user "+u.ID.String(), func(tx bun.Conn) error {
		var others []userRow
		err := s.locking(tx.NewSelect().Model(&others)).Where("email = ?", u.Email).Scan(ctx)
		if err != nil {
			return err
		}
		for i := range others {
			if others[i].State != shop.UserPending {
				return fmt.Errorf("%w: user %s", shop.ErrTaken, others[i].ID)
			}
		}
		for i := range others {
			if err := deletePending(ctx, tx, others[i].ID); err != nil {
				return err
			}
		}
		err = insert(ctx, tx, rowOfUser(&u))
		if isDuplicate(err) { // transient, because a repeated call finds the other registration
			return fmt.Errorf("%w: another registration of this email committed first: %w", shop.ErrTransient, err)
		}
		if err != nil {
			return err
		}
		return addTokens(ctx, tx, tokens...)
	})
}

// deletePending deletes a pending registration with its links. ErrNoRow: it is not pending.
func deletePending(ctx context.Context, tx bun.Conn, id shop.ID) error {
	matched, err := exec(ctx, tx, "DELETE FROM users WHERE id = ? AND state = ?", id, shop.UserPending)
	if err := noRowIfUnmatched(matched, err); err != nil {
		return err
	}
	return deleteUnusedTokens(ctx, tx, id)
}

// deleteUnusedTokens deletes the unused links of an account.
func deleteUnusedTokens(ctx context.Context, tx bun.Conn, user shop.ID) error {
	_, err := exec(ctx, tx, "DELETE FROM mail_tokens WHERE user_id = ? AND used_at IS NULL", user)
	return err
}

// AddMailToken adds a token. It deletes the oldest tokens of its kind beyond maxMailTokens. ErrNoRow: the account has
// another state or email than u.
func (s Accounts) AddMailToken(ctx context.Context, t shop.MailToken, u *shop.User) error {
	return s.inTx(ctx, "add an e-mail token", func(tx bun.Conn) error {
		// Lock the account: a link belongs to the email and the state that the caller has read.
		account, err := s.lockUser(ctx, tx, t.User)
		if err != nil {
			return err
		}
		if account.State != u.State || account.Email != u.Email {
			return shop.ErrNoRow
		}
		if err := addTokens(ctx, tx, t); err != nil {
			return err
		}
		var live []mailTokenRow
		err = tx.NewSelect().Model(&live).Where("user_id = ? AND kind = ? AND used_at IS NULL", t.User, t.Kind).
			Scan(ctx)
		if err != nil || len(live) <= maxMailTokens {
			return err
		}
		slices.SortFunc(live, func(a, b mailTokenRow) int { return int(b.ExpiresAt - a.ExpiresAt) })
		surplus := convert(live[maxMailTokens:], func(r *mailTokenRow) string { return r.Hash })
		_, err = exec(ctx, tx, "DELETE FROM mail_tokens WHERE hash IN (?)", bun.List(surplus))
		return err
	})
}

func addTokens(ctx context.Context, tx bun.Conn, tokens ...shop.MailToken) error {
	for _, t := range tokens {
		row := mailTokenRow{Hash: t.Hash, User: t.User, Kind: t.Kind, ExpiresAt: t.ExpiresAt}
		if err := insert(ctx, tx, &row); err != nil {
			return err
		}
	}
	return nil
}

// Activate uses the token and activates its account, if the account still has the given password hash. A repeat within
// activationRepeatWindow returns the same account. ErrNoRow: the token does not exist, is used or has expired, or the
// account has changed.
func (s Accounts) Activate(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error) {
	return inTx(ctx, s.session, "activate an account", func(tx bun.Conn) (shop.User, error) {
		user, fresh, err := useToken(ctx, tx, hash, shop.TokenActivate, now)
		if err != nil {
			return shop.User{}, err
		}
		if fresh {
			matched, err := exec(ctx, tx,
				"UPDATE users SET state = ?, activated_at = ? WHERE id = ? AND state = ? AND password = ?",
				shop.UserActive, now, user, shop.UserPending, password)
			if err := noRowIfUnmatched(matched, err); err != nil {
				return shop.User{}, err
			}
		}
		return activeUser(ctx, tx, user)
	})
}

// Unregister deletes the pending account of an activation token. ErrNoRow: as for Activate.
func (s Accounts) Unregister(ctx context.Context, hash string, now shop.Millis) error {
	return s.inTx(ctx, "remove a registration", func(tx bun.Conn) error {
		row, err := liveToken(ctx, tx, hash, shop.TokenActivate, now)
		if err != nil {
			return err
		}
		return deletePending(ctx, tx, row.User)
	})
}

// FirstLogIn deletes the guest tokens of an account, and returns the id that the account has from now on. If hash is
// one of these tokens and the guest id has no account, the account takes the guest id. Only links can refer to the
// former id, because the account was never used. ErrNoRow: the account is no longer active, or its password differs
// from the one in `verified`.
func (s Accounts) FirstLogIn(ctx context.Context, verified *shop.User, guest shop.ID, hash string) (shop.ID, error) {
	const guestTokens = " FROM mail_tokens WHERE user_id = ? AND kind = 'guest'"
	var first bool // most logins are not the first login, and need no transaction
	err := s.db.NewRaw("SELECT EXISTS (SELECT 1"+guestTokens+")", verified.ID).Scan(ctx, &first)
	if err != nil || !first {
		return verified.ID, wrap("read the guest of user "+verified.ID.String(), err)
	}
	return inTx(ctx, s.session, "log in user "+verified.ID.String()+" first", func(tx bun.Conn) (shop.ID, error) {
		u, err := s.lockUser(ctx, tx, verified.ID)
		switch {
		case err != nil:
			return 0, err
		case u.State != shop.UserActive || u.Password != verified.Password:
			return 0, shop.ErrNoRow
		}
		matched, err := exec(ctx, tx, "DELETE"+guestTokens+" AND hash = ?", u.ID, hash)
		if err != nil {
			return 0, err
		}
		if _, err := exec(ctx, tx, "DELETE"+guestTokens, u.ID); err != nil {
			return 0, err
		}
		if matched == 0 {
			return u.ID, nil
		}
		if _, err := oneUser(ctx, tx.NewSelect().Where("id = ?", guest)); !errors.Is(err, sql.ErrNoRows) {
			return u.ID, err // the guest has another account
		}
		err = execMatching(ctx, tx, 1, "move a locked user", "UPDATE users SET id = ? WHERE id = ?", guest, u.ID)
		if err != nil {
			return 0, err
		}
		_, err = exec(ctx, tx, "UPDATE mail_tokens SET user_id = ? WHERE user_id = ?", guest, u.ID)
		return guest, err
	})
}

// Reset uses the token, sets the password, deletes unused links and revokes all devices. ErrNoRow: as for Activate.
func (s Accounts) Reset(ctx context.Context, hash, password string, now shop.Millis) (shop.User, error) {
	return inTx(ctx, s.session, "reset a password", func(tx bun.Conn) (shop.User, error) {
		user, _, err := useToken(ctx, tx, hash, shop.TokenReset, now)
		if err != nil {
			return shop.User{}, err
		}
		matched, err := exec(ctx, tx, "UPDATE users SET password = ? WHERE id = ? AND state = ?",
			password, user, shop.UserActive)
		if err := noRowIfUnmatched(matched, err); err != nil {
			return shop.User{}, err
		}
		if err := deleteUnusedTokens(ctx, tx, user); err != nil {
			return shop.User{}, err
		}
		if _, err := s.Sessions().revokeDevices(ctx, tx, user, 0); err != nil {
			return shop.User{}, err
		}
		return activeUser(ctx, tx, user)
	})
}

// CheckMailToken reads the account of a token that is valid at the instant now. ErrNoRow: the token does not exist, is
// used or has expired.
func (s Accounts) CheckMailToken(
	ctx context.Context, hash string, kind shop.MailTokenKind, now shop.Millis,
) (u shop.User, err error) {
	row, err := liveToken(ctx, s.db, hash, kind, now)
	if err == nil {
		u, err = oneUser(ctx, s.db.NewSelect().Where("id = ?", row.User))
	}
	return u, wrap("check an e-mail token", err)
}

func mailToken(ctx context.Context, db bun.IDB, hash string, kind shop.MailTokenKind) (row mailTokenRow, err error) {
	err = db.NewSelect().Model(&row).Where("hash = ? AND kind = ?", hash, kind).Scan(ctx)
	return row, err
}

// liveToken is mailToken for valid tokens. ErrNoRow: the token does not exist or is no longer valid.
func liveToken(
	ctx context.Context, db bun.IDB, hash string, kind shop.MailTokenKind, now shop.Millis,
) (mailTokenRow, error) {
	row, err := mailToken(ctx, db, hash, kind)
	if err == nil && !row.usable(now) {
		err = shop.ErrNoRow
	}
	return row, err
}

// usable reports whether a token can be used at the instant now. A used activation token can be used again for
// activationRepeatWindow.
func (r *mailTokenRow) usable(now shop.Millis) bool {
	if r.UsedAt != nil {
		return r.Kind == shop.TokenActivate && *r.UsedAt > now.Add(-activationRepeatWindow)
	}
	return r.ExpiresAt > now
}

// useToken marks a token as used and returns its user. fresh is false for a repeated activation. ErrNoRow: the token
// does not exist or is not valid.
func useToken(
	ctx context.Context, tx bun.Conn, hash string, kind shop.MailTokenKind, now shop.Millis,
) (user shop.ID, fresh bool, err error) {
	matched, err := exec(ctx, tx,
		"UPDATE mail_tokens SET used_at = ? WHERE hash = ? AND kind = ? AND used_at IS NULL AND expires_at > ?",
		now, hash, kind, now)
	if err != nil {
		return 0, false, err
	}
	row, err := mailToken(ctx, tx, hash, kind)
	if err != nil {
		return 0, false, err
	}
	if matched == 0 && !row.usable(now) {
		return 0, false, shop.ErrNoRow
	}
	return row.User, matched == 1, nil
}

func activeUser(ctx context.Context, tx bun.Conn, id shop.ID) (shop.User, error) {
	u, err := oneUser(ctx, tx.NewSelect().Where("id = ?", id))
	if err == nil && u.State != shop.UserActive {
		err = shop.ErrNoRow
	}
	return u, err
}
