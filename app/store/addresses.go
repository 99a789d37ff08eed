package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Addresses keeps the address books of buyers.
type Addresses struct{ *session }

// addressRow is the row of a shop.SavedAddress.
type addressRow struct {
	bun.BaseModel `bun:"table:addresses"`

	ID        shop.ID     `bun:"id,pk"`
	User      shop.ID     `bun:"user_id"`
	Name      string      `bun:"name"`
	Phone     string      `bun:"phone"`
	Text      string      `bun:"text"`
	IsDefault *int        `bun:"is_default"`
	CreatedAt shop.Millis `bun:"created_at"`
}

func (r *addressRow) address() shop.SavedAddress {
	return shop.SavedAddress{
		ID: r.ID, Address: shop.Address{Name: r.Name, Phone: r.Phone, Text: r.Text}, Default: r.IsDefault != nil,
	}
}

// AddressesOf lists the addresses of a user, the default first, then the newest first.
func (s Addresses) AddressesOf(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error) {
	rows, err := readAddresses(ctx, s.db.NewSelect(), user)
	return convert(rows, (*addressRow).address), wrap("read the addresses of user "+user.String(), err)
}

// readAddresses reads a user's addresses, the default first, then the newest first.
func readAddresses(ctx context.Context, q *bun.SelectQuery, user shop.ID) (rows []addressRow, err error) {
	err = q.Model(&rows).Where("user_id = ?", user).OrderExpr("COALESCE(is_default, 0) DESC, id DESC").Scan(ctx)
	return rows, err
}

// changeAddresses runs a change of a user's addresses under a lock of their rows. The rows are locked in the order of
// their ids, because a scan along the other index can miss a row whose default changes. Without addresses there is no
// row to lock. If two calls add a first address concurrently, the second call violates the unique key of the default
// and is repeated.
func (s Addresses) changeAddresses(
	ctx context.Context, action string, user shop.ID,
	change func(tx bun.Conn, rows []addressRow) (shop.SavedAddress, error),
) (out shop.SavedAddress, err error) {
	for range deadlockTries {
		out, err = inTx(ctx, s.session, action, func(tx bun.Conn) (shop.SavedAddress, error) {
			var ids []shop.ID
			lock := tx.NewSelect().Model((*addressRow)(nil)).Column("id").ForceIndex("addresses_user")
			if err := s.locking(lock.Where("user_id = ?", user).Order("id")).Scan(ctx, &ids); err != nil {
				return shop.SavedAddress{}, err
			}
			rows, err := readAddresses(ctx, tx.NewSelect(), user)
			if err != nil {
				return shop.SavedAddress{}, err
			}
			return change(tx, rows)
		})
		if !isDuplicate(err) {
			break
		}
	}
	return out, err
}

// AddAddress adds an address, unless the user has the same address already, and returns the entry. ErrNoRow: the user
// has `limit` addresses already. The first address becomes the default; a later address does so only if a.Default is
// set.
func (s Addresses) AddAddress(
	ctx context.Context, user shop.ID, a shop.SavedAddress, limit int,
) (shop.SavedAddress, error) {
	return s.changeAddresses(ctx, "add an address of user "+user.String(), user,
		func(tx bun.Conn, rows []addressRow) (shop.SavedAddress, error) {
			same := slices.IndexFunc(rows, func(r addressRow) bool { return r.address().Address == a.Address })
			if same >= 0 {
				return makeDefault(ctx, tx, user, &rows[same], a.Default)
			}
			if len(rows) >= limit {
				return shop.SavedAddress{}, shop.ErrNoRow
			}
			row := addressRow{ID: a.ID, User: user, Name: a.Name, Phone: a.Phone, Text: a.Text, CreatedAt: wallClock()}
			if len(rows) == 0 {
				row.IsDefault = new(1)
			}
			if err := insert(ctx, tx, &row); err != nil {
				return shop.SavedAddress{}, err
			}
			return makeDefault(ctx, tx, user, &row, a.Default)
		})
}

// ChangeAddress replaces an entry, which may become the default, and returns it. ErrNoRow: no such entry.
func (s Addresses) ChangeAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error) {
	return s.changeAddresses(ctx, "change address "+a.ID.String(), user,
		func(tx bun.Conn, rows []addressRow) (shop.SavedAddress, error) {
			i := slices.IndexFunc(rows, func(r addressRow) bool { return r.ID == a.ID })
			if i < 0 {
				return shop.SavedAddress{}, shop.ErrNoRow
			}
			row := &rows[i]
			row.Name, row.Phone, row.Text = a.Name, a.Phone, a.Text
			err := execMatching(ctx, tx, 1, "change a locked address",
				"UPDATE addresses SET name = ?, phone = ?, text = ? WHERE id = ? AND user_id = ?", a.Name, a.Phone, a.Text, a.ID,
				user)
			if err != nil {
				return shop.SavedAddress{}, err
			}
			return makeDefault(ctx, tx, user, row, a.Default)
		})
}

// RemoveAddress removes an entry. If it was the default, the newest one becomes the default. ErrNoRow: no such entry.
func (s Addresses) RemoveAddress(ctx context.Context, user, id shop.ID) error {
	_, err := s.changeAddresses(ctx, "remove address "+id.String(), user,
		func(tx bun.Conn, rows []addressRow) (none shop.SavedAddress, err error) {
			i := slices.IndexFunc(rows, func(r addressRow) bool { return r.ID == id })
			if i < 0 {
				return none, shop.ErrNoRow
			}
			err = execMatching(ctx, tx, 1, "remove a locked address",
				"DELETE FROM addresses WHERE id = ? AND user_id = ?", id, user)
			if err != nil || rows[i].IsDefault == nil || len(rows) == 1 {
				return none, err
			}
			// rows[0] was the default; rows[1] is the newest of the other addresses.
			return makeDefault(ctx, tx, user, &rows[1], true)
		})
	return err
}

// makeDefault makes the entry the default if isDefault is set, and returns it. It clears the old default first, because
// the unique key allows only one default.
func makeDefault(
	ctx context.Context, tx bun.Conn, user shop.ID, row *addressRow, isDefault bool,
) (shop.SavedAddress, error) {
	if !isDefault || row.IsDefault != nil {
		return row.address(), nil
	}
	_, err := exec(ctx, tx, "UPDATE addresses SET is_default = NULL WHERE user_id = ? AND is_default = 1", user)
	if err != nil {
		return shop.SavedAddress{}, err
	}
	row.IsDefault = new(1)
	return row.address(), execMatching(ctx, tx, 1, "make an address the default",
		"UPDATE addresses SET is_default = 1 WHERE id = ? AND user_id = ?", row.ID, user)
}
