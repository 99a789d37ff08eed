package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Sessions keeps the logins of accounts, revocations and the generation of the signing key.
type Sessions struct{ *session }

const (
	// maxDevices limits the active devices (logins) of an account. The least recently used device is revoked first.
	maxDevices = 20
	// revokedMargin is added to the life of access tokens, because nodes tolerate small clock differences.
	revokedMargin = time.Minute
)

// deviceRow is the row of a shop.Device.
type deviceRow struct {
	bun.BaseModel `bun:"table:devices"`

	ID           shop.ID      `bun:"id,pk"`
	User         shop.ID      `bun:"user_id"`
	Name         string       `bun:"name"`
	RefreshHash  string       `bun:"refresh_hash"`
	PreviousHash *string      `bun:"previous_hash"`
	RotatedAt    shop.Millis  `bun:"rotated_at"`
	CreatedAt    shop.Millis  `bun:"created_at"`
	LastSeenAt   shop.Millis  `bun:"last_seen_at"`
	ExpiresAt    shop.Millis  `bun:"expires_at"`
	RevokedAt    *shop.Millis `bun:"revoked_at"`
}

func (r *deviceRow) device() shop.Device {
	return shop.Device{
		ID: r.ID, User: r.User, Name: r.Name, RefreshHash: r.RefreshHash, PreviousHash: zeroIfNil(r.PreviousHash),
		RotatedAt: r.RotatedAt, CreatedAt: r.CreatedAt, LastSeenAt: r.LastSeenAt, ExpiresAt: r.ExpiresAt,
		RevokedAt: zeroIfNil(r.RevokedAt),
	}
}

// AddDevice adds a device, and revokes the least recently used devices beyond maxDevices. ErrNoRow: the account is no
// longer active, or its password or role differs from the one in `verified`. The device is written under the lock of
// its account. A concurrent change of password, role or state therefore either commits first and makes AddDevice fail,
// or revokes the new device.
func (s Sessions) AddDevice(ctx context.Context, d shop.Device, verified *shop.User) error {
	row := deviceRow{
		ID: d.ID, User: d.User, Name: d.Name, RefreshHash: d.RefreshHash, RotatedAt: d.RotatedAt,
		CreatedAt: d.CreatedAt, LastSeenAt: d.LastSeenAt, ExpiresAt: d.ExpiresAt,
	}
	return s.inTx(ctx, "add device "+d.ID.String(), func(tx bun.Conn) error {
		u, err := s.Accounts().lockUser(ctx, tx, d.User)
		if err != nil {
			return err
		}
		if u.State != shop.UserActive || u.Password != verified.Password || u.Role != verified.Role {
			return shop.ErrNoRow
		}
		if err := insert(ctx, tx, &row); err != nil {
			return err
		}
		live, err := liveDevices(ctx, tx, d.User, d.CreatedAt, "last_seen_at DESC, id DESC")
		if err != nil || len(live) <= maxDevices {
			return err
		}
		return s.revokeRows(ctx, tx, convert(live[maxDevices:], func(r *deviceRow) shop.ID { return r.ID }))
	})
}

// Device reads one device. ErrNoRow: no such device.
func (s Sessions) Device(ctx context.Context, id shop.ID) (shop.Device, error) {
	var row deviceRow
	err := s.db.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
	return row.device(), wrap("read device "+id.String(), err)
}

// RotateDevice replaces the hash `old` by the values of d, and reports whether it did. The single conditional statement
// succeeds only if `old` is the current hash and the device is neither revoked nor expired. Of two requests with the
// same token, one succeeds.
func (s Sessions) RotateDevice(ctx context.Context, d shop.Device, old string) (bool, error) {
	return inTx(ctx, s.session, "rotate device "+d.ID.String(), func(tx bun.Conn) (bool, error) {
		matched, err := exec(ctx, tx, "UPDATE devices SET refresh_hash = ?, previous_hash = ?, rotated_at = ?,"+
			" last_seen_at = ?, expires_at = ? WHERE id = ? AND refresh_hash = ? AND revoked_at IS NULL AND expires_at > ?",
			d.RefreshHash, nullIfZero(d.PreviousHash), d.RotatedAt, d.LastSeenAt, d.ExpiresAt, d.ID, old, d.RotatedAt)
		return matched == 1, err
	})
}

// ReissueDevice clears the previous hash in one conditional statement and reports whether it did. Of several requests
// with that hash, one succeeds.
func (s Sessions) ReissueDevice(ctx context.Context, id shop.ID, previous string) (bool, error) {
	matched, err := s.run(ctx, "reissue device "+id.String(), "UPDATE devices SET previous_hash = NULL"+
		" WHERE id = ? AND previous_hash = ? AND revoked_at IS NULL", id, previous)
	return matched == 1, err
}

// DevicesOf lists the devices of a user that are neither revoked nor expired at the instant now, the newest first.
func (s Sessions) DevicesOf(ctx context.Context, user shop.ID, now shop.Millis) ([]shop.Device, error) {
	rows, err := liveDevices(ctx, s.db, user, now, "id DESC")
	return convert(rows, (*deviceRow).device), wrap("read the devices of user "+user.String(), err)
}

func liveDevices(
	ctx context.Context, db bun.IDB, user shop.ID, now shop.Millis, order string,
) (rows []deviceRow, err error) {
	err = db.NewSelect().Model(&rows).Where("user_id = ? AND revoked_at IS NULL AND expires_at > ?", user, now).
		OrderExpr(order).Scan(ctx)
	return rows, err
}

// RevokeDevice revokes a device of the user and its access tokens. A repeat changes nothing. ErrNoRow: no such device.
func (s Sessions) RevokeDevice(ctx context.Context, user, device shop.ID) error {
	return s.inTx(ctx, "revoke device "+device.String(), func(tx bun.Conn) error {
		var row deviceRow
		err := s.locking(tx.NewSelect().Model(&row)).Where("id = ? AND user_id = ?", device, user).Scan(ctx)
		if err != nil || row.RevokedAt != nil {
			return err
		}
		return s.revokeRows(ctx, tx, []shop.ID{device})
	})
}

// RevokeDevices revokes all devices of a user except one (0: all), with their access tokens, and returns their ids.
func (s Sessions) RevokeDevices(ctx context.Context, user, except shop.ID) ([]shop.ID, error) {
	return inTx(ctx, s.session, "revoke the devices of user "+user.String(), func(tx bun.Conn) ([]shop.ID, error) {
		return s.revokeDevices(ctx, tx, user, except)
	})
}

// revokeDevices is RevokeDevices within the transaction of the caller.
func (s Sessions) revokeDevices(ctx context.Context, tx bun.Conn, user, except shop.ID) ([]shop.ID, error) {
	var rows []deviceRow
	err := s.locking(tx.NewSelect().Model(&rows)).Where("user_id = ? AND id <> ? AND revoked_at IS NULL", user, except).
		Order("id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	ids := convert(rows, func(r *deviceRow) shop.ID { return r.ID })
	return ids, s.revokeRows(ctx, tx, ids)
}

func (s Sessions) revokeRows(ctx context.Context, tx bun.Conn, ids []shop.ID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := exec(ctx, tx, "UPDATE devices SET revoked_at = "+s.d.now+" WHERE id IN (?) AND revoked_at IS NULL", bun.List(ids))
	if err != nil {
		return err
	}
	now, err := s.clock(ctx, tx)
	if err != nil {
		return err
	}
	return s.revoke(ctx, tx, ids, now.At.Add(shop.AccessLife+revokedMargin))
}

// Settings of the signing key. They change in one transaction.
const (
	settingGeneration = "signing_generation"
	settingSince      = "signing_since"
	settingOldest     = "signing_oldest"
	settingSalt       = "signing_salt"
)

// Revoke invalidates the access tokens of the subjects until the given instant. See Identity.Subject.
func (s Sessions) Revoke(ctx context.Context, subjects []shop.ID, until shop.Millis) error {
	return s.inTx(ctx, "revoke tokens", func(tx bun.Conn) error { return s.revoke(ctx, tx, subjects, until) })
}

// revoke runs one statement per subject, in the order of their ids. A repeated subject gets a new instant, so that
// nodes read it again.
func (s Sessions) revoke(ctx context.Context, tx bun.Conn, subjects []shop.ID, until shop.Millis) error {
	for _, subject := range slices.Sorted(slices.Values(subjects)) {
		_, err := exec(ctx, tx, "INSERT INTO revoked (subject, at, until) VALUES (?, "+s.d.now+", ?) "+s.d.onDuplicate+
			" at = "+s.d.now+", until = "+s.d.greatest+"(until, ?)", subject, until, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// Revocations lists the revocations that were made at the instant `since` or later and have not expired.
func (s Sessions) Revocations(ctx context.Context, since shop.Millis) (shop.Revocations, error) {
	const what = "read revoked tokens"
	now, err := s.clock(ctx, s.db) // before the rows, so that no revocation falls between two reads
	if err != nil {
		return shop.Revocations{}, wrap(what, err)
	}
	out := shop.Revocations{Now: now.At}
	var rows []struct {
		Subject shop.ID
		Until   shop.Millis
	}
	err = s.db.NewRaw("SELECT subject, until FROM revoked WHERE at >= ? AND until > ?", since, now.At).Scan(ctx, &rows)
	if err != nil {
		return shop.Revocations{}, wrap(what, err)
	}
	for _, r := range rows {
		out.Subjects = append(out.Subjects, shop.Revocation{Subject: r.Subject, Until: r.Until})
	}
	out.Keys, err = keyGeneration(ctx, s.db)
	return out, wrap(what, err)
}

// KeyGeneration reads the generation of the signing key.
func (s Sessions) KeyGeneration(ctx context.Context) (shop.KeyGeneration, error) {
	k, err := keyGeneration(ctx, s.db)
	return k, wrap("read the generation of the signing key", err)
}

// keyGeneration reads all settings in one statement, so that they are consistent.
func keyGeneration(ctx context.Context, db bun.IDB) (k shop.KeyGeneration, err error) {
	var rows []struct{ Name, Value string }
	err = db.NewRaw("SELECT name, value FROM settings WHERE name IN (?, ?, ?, ?)",
		settingGeneration, settingSince, settingOldest, settingSalt).Scan(ctx, &rows)
	for _, r := range rows {
		if r.Name == settingSalt {
			k.Salt = r.Value
			continue
		}
		n, parseErr := strconv.ParseInt(r.Value, 10, 64)
		switch err = cmp.Or(err, parseErr); r.Name {
		case settingGeneration:
			k.Number = n
		case settingSince:
			k.Since = shop.Millis(n)
		case settingOldest:
			k.Oldest = n
		}
	}
	return k, err
}

// RotateKey starts the generation after `from`. ErrNoRow: `from` is not the current generation. If invalidateOlder is
// set, tokens of older generations become invalid, and the salt changes.
func (s Sessions) RotateKey(ctx context.Context, from int64, invalidateOlder bool) (shop.KeyGeneration, error) {
	return inTx(ctx, s.session, "rotate the signing key", func(tx bun.Conn) (shop.KeyGeneration, error) {
		// The first rotation inserts the row. Its lock excludes other rotations until the commit.
		_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, '0') "+s.d.onDuplicate+" value = value",
			settingGeneration)
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		current, err := keyGeneration(ctx, tx)
		if err == nil && current.Number != from {
			err = shop.ErrNoRow
		}
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		now, err := s.clock(ctx, tx)
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		next := current
		next.Number, next.Since = from+1, now.At
		if invalidateOlder {
			next.Oldest, next.Salt = next.Number, rand.Text()
		}
		return next, s.putKeyGeneration(ctx, tx, next)
	})
}

func (s Sessions) putKeyGeneration(ctx context.Context, tx bun.Conn, k shop.KeyGeneration) error {
	err := s.putSetting(ctx, tx, settingGeneration, k.Number)
	if err == nil {
		err = s.putSetting(ctx, tx, settingSince, k.Since)
	}
	if err == nil {
		err = s.putSetting(ctx, tx, settingOldest, k.Oldest)
	}
	if err == nil {
		err = s.putSetting(ctx, tx, settingSalt, k.Salt)
	}
	return err
}
