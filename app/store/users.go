package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Accounts keeps accounts and their e-mail tokens.
type Accounts struct{ *session }

// userRow is the row of a shop.User.
type userRow struct {
	bun.BaseModel `bun:"table:users"`

	ID          shop.ID        `bun:"id,pk"`
	Email       *string        `bun:"email"`
	Name        string         `bun:"name"`
	Role        shop.Role      `bun:"role"`
	Password    *string        `bun:"password"`
	Lang        string         `bun:"lang"`
	State       shop.UserState `bun:"state"`
	CreatedAt   shop.Millis    `bun:"created_at"`
	ActivatedAt *shop.Millis   `bun:"activated_at"`
	DeletedAt   *shop.Millis   `bun:"deleted_at"`
}

func rowOfUser(u *shop.User) *userRow {
	return &userRow{
		ID: u.ID, Email: nullIfZero(u.Email), Name: u.Name, Role: u.Role, Password: nullIfZero(u.Password),
		Lang: u.Lang, State: u.State,
		CreatedAt: u.CreatedAt, ActivatedAt: nullIfZero(u.ActivatedAt), DeletedAt: nullIfZero(u.DeletedAt),
	}
}

func (r *userRow) user() shop.User {
	return shop.User{
		ID: r.ID, Email: zeroIfNil(r.Email), Name: r.Name, Role: r.Role, Password: zeroIfNil(r.Password), Lang: r.Lang,
		State: r.State, CreatedAt: r.CreatedAt, ActivatedAt: zeroIfNil(r.ActivatedAt),
		DeletedAt: zeroIfNil(r.DeletedAt),
	}
}

// nullIfZero returns NULL for a zero value.
func nullIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func zeroIfNil[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}

// UserByID reads one account in any state. ErrNoRow: the id belongs to a guest, or is unused.
func (s Accounts) UserByID(ctx context.Context, id shop.ID) (shop.User, error) {
	u, err := oneUser(ctx, s.db.NewSelect().Where("id = ?", id))
	return u, wrap("read user "+id.String(), err)
}

// UserByEmail reads the account with the email, pending or active. ErrNoRow: no such account.
func (s Accounts) UserByEmail(ctx context.Context, email string) (shop.User, error) {
	u, err := oneUser(ctx, whereASCII(s.db.NewSelect(), "email = ?", email))
	return u, wrap("read a user by e-mail", err)
}

func oneUser(ctx context.Context, q *bun.SelectQuery) (shop.User, error) {
	var row userRow
	err := q.Model(&row).Scan(ctx)
	return row.user(), err
}

// lockUser reads an account in any state and locks its row until the transaction ends. sql.ErrNoRows: no such account.
func (s Accounts) lockUser(ctx context.Context, tx bun.Conn, id shop.ID) (shop.User, error) {
	return oneUser(ctx, s.locking(tx.NewSelect().Where("id = ?", id)))
}

// AddUser writes an account. A repeat succeeds. ErrTaken: another account has its email or id.
func (s Accounts) AddUser(ctx context.Context, u shop.User) error {
	err := s.inTx(ctx, "add user "+u.ID.String(), func(tx bun.Conn) error { return insert(ctx, tx, rowOfUser(&u)) })
	if !isDuplicate(err) {
		return err
	}
	known, readErr := s.UserByID(ctx, u.ID)
	switch {
	case readErr == nil && known.Email == u.Email && known.Password == u.Password:
		return nil // an earlier attempt of the same call
	case readErr == nil || errors.Is(readErr, shop.ErrNoRow):
		return fmt.Errorf("add user %s: %w", u.ID, shop.ErrTaken)
	}
	return readErr
}

// EditUser sets name and language of an active account; nil keeps the value. ErrNoRow: no such active account.
func (s Accounts) EditUser(ctx context.Context, id shop.ID, name, lang *string) error {
	return s.changeRow(ctx, "edit user "+id.String(),
		"UPDATE users SET name = COALESCE(?, name), lang = COALESCE(?, lang) WHERE id = ? AND state = ?",
		name, lang, id, shop.UserActive)
}

// SetRole sets the role of an active account; a change revokes all its devices. ErrNoRow: no such active account.
// WrongState: the account is the last admin who can log in.
func (s Accounts) SetRole(ctx context.Context, id shop.ID, role shop.Role) error {
	return s.inTx(ctx, "set the role of user "+id.String(), func(tx bun.Conn) error {
		u, err := s.lockUser(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case u.State != shop.UserActive:
			return shop.ErrNoRow
		case u.Role == role:
			return nil
		}
		if err := s.keepAdmin(ctx, tx, &u); err != nil {
			return err
		}
		err = execMatching(ctx, tx, 1, "set the role of a locked user", "UPDATE users SET role = ? WHERE id = ?", role, id)
		if err != nil {
			return err
		}
		_, err = s.Sessions().revokeDevices(ctx, tx, id, 0)
		return err
	})
}

// HasAdmin reports whether an account has the role admin.
func (s Accounts) HasAdmin(ctx context.Context) (found bool, err error) {
	err = s.db.NewRaw("SELECT EXISTS (SELECT 1 FROM users WHERE role = ?)", shop.Admin).Scan(ctx, &found)
	return found, wrap("search for an admin", err)
}

// settingAdmins counts the changes that may remove an admin.
const settingAdmins = "admins_version"

// keepAdmin is called before a user loses the role admin, the account or the right to log in. WrongState: no other
// admin can log in. The setting's row lock serialises these changes until they commit.
func (s Accounts) keepAdmin(ctx context.Context, tx bun.Conn, u *shop.User) error {
	if u.Role != shop.Admin || u.State != shop.UserActive {
		return nil
	}
	if err := s.raise(ctx, tx, settingAdmins); err != nil {
		return err
	}
	var admins []shop.ID // without an index: admins are few and rarely change
	err := tx.NewRaw("SELECT id FROM users WHERE role = ? AND state = ? AND password IS NOT NULL AND NOT EXISTS ("+
		"SELECT 1 FROM blocks WHERE kind = ? AND value = CAST(users.id AS CHAR) AND removed_at IS NULL AND "+
		"(until IS NULL OR until > "+s.d.now+"))", shop.Admin, shop.UserActive, BlockUser).Scan(ctx, &admins)
	if err == nil && len(admins) == 1 && admins[0] == u.ID {
		err = shop.Fail(shop.WrongState, "this is the last admin who can log in; give another account the role admin first")
	}
	return err
}

// SetPassword sets the password hash of an active account whose hash is still `old`. It deletes unused links, and
// revokes all devices except the given one (0: all). ErrNoRow: no such active account with that hash.
func (s Accounts) SetPassword(ctx context.Context, id shop.ID, old, hash string, except shop.ID) error {
	return s.inTx(ctx, "set the password of user "+id.String(), func(tx bun.Conn) error {
		matched, err := exec(ctx, tx, "UPDATE users SET password = ? WHERE id = ? AND state = ? AND password = ?",
			hash, id, shop.UserActive, old)
		if err := noRowIfUnmatched(matched, err); err != nil {
			return err
		}
		if err := deleteUnusedTokens(ctx, tx, id); err != nil {
			return err
		}
		_, err = s.Sessions().revokeDevices(ctx, tx, id, except)
		return err
	})
}

// noRowIfUnmatched returns ErrNoRow for a conditional change that matched no row.
func noRowIfUnmatched(matched int64, err error) error {
	if err == nil && matched == 0 {
		return shop.ErrNoRow
	}
	return err
}
