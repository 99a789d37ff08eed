package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"stampede/app"
)

const (
	// devicesKept is how many log ins of an account count at a time; the one that was not used for longest goes first.
	devicesKept = 20
	// revokedMargin is kept beyond the life of access tokens: nodes forgive clocks that differ a little.
	revokedMargin = time.Minute
)

// deviceRow is app.Device as the table has it.
type deviceRow struct {
	bun.BaseModel `bun:"table:devices"`

	ID           app.ID      `bun:"id,pk"`
	User         app.ID      `bun:"user_id"`
	Name         string      `bun:"name"`
	RefreshHash  string      `bun:"refresh_hash"`
	PreviousHash *string     `bun:"previous_hash"`
	RotatedAt    app.Millis  `bun:"rotated_at"`
	CreatedAt    app.Millis  `bun:"created_at"`
	LastSeenAt   app.Millis  `bun:"last_seen_at"`
	ExpiresAt    app.Millis  `bun:"expires_at"`
	RevokedAt    *app.Millis `bun:"revoked_at"`
}

func (r *deviceRow) device() app.Device {
	return app.Device{
		ID: r.ID, User: r.User, Name: r.Name, RefreshHash: r.RefreshHash, PreviousHash: orZero(r.PreviousHash),
		RotatedAt: r.RotatedAt, CreatedAt: r.CreatedAt, LastSeenAt: r.LastSeenAt, ExpiresAt: r.ExpiresAt,
		RevokedAt: orZero(r.RevokedAt),
	}
}

// AddDevice writes a log in under the lock of its account: a change of password, role or state either comes before it
// and ends it, or revokes its row. See app.DeviceStore.
func (s *Store) AddDevice(ctx context.Context, d app.Device, proven *app.User) error {
	row := deviceRow{
		ID: d.ID, User: d.User, Name: d.Name, RefreshHash: d.RefreshHash, RotatedAt: d.RotatedAt,
		CreatedAt: d.CreatedAt, LastSeenAt: d.LastSeenAt, ExpiresAt: d.ExpiresAt,
	}
	return s.inTx(ctx, "add device "+d.ID.String(), func(tx bun.Conn) error {
		u, err := s.lockUser(ctx, tx, d.User)
		if err != nil {
			return err
		}
		if u.State != app.UserActive || u.Password != proven.Password || u.Role != proven.Role {
			return app.ErrNoRow
		}
		if err := insert(ctx, tx, &row); err != nil {
			return err
		}
		live, err := liveDevices(ctx, tx, d.User, d.CreatedAt, "last_seen_at DESC, id DESC")
		if err != nil || len(live) <= devicesKept {
			return err
		}
		return s.revokeRows(ctx, tx, convert(live[devicesKept:], func(r *deviceRow) app.ID { return r.ID }))
	})
}

// Device reads one. See app.DeviceStore.
func (s *Store) Device(ctx context.Context, id app.ID) (app.Device, error) {
	var row deviceRow
	err := s.db.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
	return row.device(), wrap("read device "+id.String(), err)
}

// RotateDevice replaces the hash in one conditional statement: of two with the same token, one does. See
// app.DeviceStore.
func (s *Store) RotateDevice(ctx context.Context, d app.Device, old string) (bool, error) {
	return inTx(ctx, s, "rotate device "+d.ID.String(), func(tx bun.Conn) (bool, error) {
		matched, err := exec(ctx, tx, "UPDATE devices SET refresh_hash = ?, previous_hash = ?, rotated_at = ?,"+
			" last_seen_at = ?, expires_at = ? WHERE id = ? AND refresh_hash = ? AND revoked_at IS NULL AND expires_at > ?",
			d.RefreshHash, unlessZero(d.PreviousHash), d.RotatedAt, d.LastSeenAt, d.ExpiresAt, d.ID, old, d.RotatedAt)
		return matched == 1, err
	})
}

// ReissueDevice clears the previous hash in one conditional statement: of several requests, one does. See
// app.DeviceStore.
func (s *Store) ReissueDevice(ctx context.Context, id app.ID, previous string) (bool, error) {
	matched, err := s.run(ctx, "reissue device "+id.String(), "UPDATE devices SET previous_hash = NULL"+
		" WHERE id = ? AND previous_hash = ? AND revoked_at IS NULL", id, previous)
	return matched == 1, err
}

// DevicesOf lists those that count. See app.DeviceStore.
func (s *Store) DevicesOf(ctx context.Context, user app.ID, now app.Millis) ([]app.Device, error) {
	rows, err := liveDevices(ctx, s.db, user, now, "id DESC")
	return convert(rows, (*deviceRow).device), wrap("read the devices of user "+user.String(), err)
}

func liveDevices(
	ctx context.Context, db bun.IDB, user app.ID, now app.Millis, order string,
) (rows []deviceRow, err error) {
	err = db.NewSelect().Model(&rows).Where("user_id = ? AND revoked_at IS NULL AND expires_at > ?", user, now).
		OrderExpr(order).Scan(ctx)
	return rows, err
}

// RevokeDevice revokes one of the user's. See app.DeviceStore.
func (s *Store) RevokeDevice(ctx context.Context, user, device app.ID) error {
	return s.inTx(ctx, "revoke device "+device.String(), func(tx bun.Conn) error {
		var row deviceRow
		err := s.locking(tx.NewSelect().Model(&row)).Where("id = ? AND user_id = ?", device, user).Scan(ctx)
		if err != nil || row.RevokedAt != nil {
			return err
		}
		return s.revokeRows(ctx, tx, []app.ID{device})
	})
}

// RevokeDevices revokes all of a user's but one. See app.DeviceStore.
func (s *Store) RevokeDevices(ctx context.Context, user, except app.ID) ([]app.ID, error) {
	return inTx(ctx, s, "revoke the devices of user "+user.String(), func(tx bun.Conn) ([]app.ID, error) {
		return s.revokeDevices(ctx, tx, user, except)
	})
}

// revokeDevices is RevokeDevices inside a transaction that changes more.
func (s *Store) revokeDevices(ctx context.Context, tx bun.Conn, user, except app.ID) ([]app.ID, error) {
	var rows []deviceRow
	err := s.locking(tx.NewSelect().Model(&rows)).Where("user_id = ? AND id <> ? AND revoked_at IS NULL", user, except).
		Order("id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	ids := convert(rows, func(r *deviceRow) app.ID { return r.ID })
	return ids, s.revokeRows(ctx, tx, ids)
}

// revokeRows revokes devices and their access tokens.
func (s *Store) revokeRows(ctx context.Context, tx bun.Conn, ids []app.ID) error {
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
	return s.revoke(ctx, tx, ids, now.At.Add(app.AccessLife+revokedMargin))
}
