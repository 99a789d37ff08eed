package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// stockRow is the row of a shop.StockAct.
type stockRow struct {
	bun.BaseModel `bun:"table:stock_operations"`

	ID        int64           `bun:"id,pk"`
	Sale      shop.ID         `bun:"sale_id"`
	Units     int64           `bun:"units"`
	Taken     int64           `bun:"taken"`
	State     shop.StockState `bun:"state"`
	CreatedAt shop.Millis     `bun:"created_at"`
	SettledAt shop.Millis     `bun:"settled_at"`
}

func (r *stockRow) act() shop.StockAct {
	return shop.StockAct{ID: r.ID, Sale: r.Sale, Units: r.Units, Taken: r.Taken, State: r.State, At: r.CreatedAt}
}

// maxStockActs limits the withdrawals of a sale, which Redis stores with it.
const maxStockActs = 200

// actsPerGeneration exceeds the number of withdrawals in one generation of the database.
const actsPerGeneration = 1_000_000

// AskStock enters a pending withdrawal of units and returns it with its number. The raised version serialises callers,
// so that numbers are assigned in order.
func (s *Store) AskStock(ctx context.Context, sale shop.ID, units int64) (shop.StockAct, error) {
	return inTx(ctx, s, "request a withdrawal from sale "+sale.String(), func(tx bun.Conn) (shop.StockAct, error) {
		if err := s.raise(ctx, tx, settingVersion); err != nil {
			return shop.StockAct{}, err
		}
		n, err := tx.NewSelect().Model((*stockRow)(nil)).Where("sale_id = ?", sale).Count(ctx)
		if err != nil {
			return shop.StockAct{}, err
		}
		if n >= maxStockActs {
			return shop.StockAct{}, shop.Fail(shop.LimitReached,
				fmt.Sprintf("units were withdrawn from this sale %d times, which is the limit", n))
		}
		row := stockRow{Sale: sale, Units: units, State: shop.StockPending}
		// Redis stores its decision under the number, even for a withdrawal that the database has lost. A new
		// generation therefore starts at higher numbers.
		err = tx.QueryRowContext(ctx, "SELECT "+s.d.greatest+"(COALESCE(MAX(id), 0), ?) + 1, "+s.d.now+
			" FROM stock_operations", s.fence.generation()*actsPerGeneration).
			Scan(&row.ID, &row.CreatedAt)
		if err != nil {
			return shop.StockAct{}, err
		}
		return row.act(), insert(ctx, tx, &row)
	})
}

// StockAct reads one withdrawal. ErrNoRow: no such withdrawal.
func (s *Store) StockAct(ctx context.Context, id int64) (shop.StockAct, error) {
	var row stockRow
	err := s.db.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
	return row.act(), wrap(fmt.Sprintf("read withdrawal %d", id), err)
}

// PendingStock lists withdrawals that are not settled, the oldest first.
func (s *Store) PendingStock(ctx context.Context, limit int) ([]shop.StockAct, error) {
	var rows []stockRow
	err := s.db.NewSelect().Model(&rows).Where("state = ?", shop.StockPending).Order("id").Limit(int64(limit)).Scan(ctx)
	return convert(rows, (*stockRow).act), wrap("read pending withdrawals", err)
}

// StockActs lists the settled withdrawals of a sale.
func (s *Store) StockActs(ctx context.Context, sale shop.ID) ([]shop.StockAct, error) {
	var rows []stockRow
	err := s.db.NewSelect().Model(&rows).Where("sale_id = ? AND state <> ?", sale, shop.StockPending).Order("id").Scan(ctx)
	return convert(rows, (*stockRow).act), wrap("read the withdrawals of sale "+sale.String(), err)
}

// SettleStock counts the units that Redis took under the epoch as withdrawn, once, and returns the withdrawal.
// ErrStaleEpoch: Redis was recovered since, and decides again. The update of the sale requires the epoch: a recovery
// that has started has raised it, and reads the sale afterwards (I8).
func (s *Store) SettleStock(ctx context.Context, id, taken, epoch int64) (shop.StockAct, error) {
	return inTx(ctx, s, fmt.Sprintf("settle withdrawal %d", id), func(tx bun.Conn) (shop.StockAct, error) {
		row, err := s.lockStock(ctx, tx, id)
		if err != nil || row.State != shop.StockPending {
			return row.act(), err
		}
		if taken < 0 || taken > row.Units {
			return row.act(), fmt.Errorf("%w: %d of %d units were taken", shop.ErrPermanent, taken, row.Units)
		}
		matched, err := exec(ctx, tx, "UPDATE sales SET withdrawn = withdrawn + ? WHERE id = ? AND epoch = ?"+
			" AND taken + withdrawn + ? <= initial + added", taken, row.Sale, epoch, taken)
		if err != nil {
			return row.act(), locked(err, row.Sale)
		}
		if matched == 0 {
			return row.act(), unsettledBecause(ctx, tx, row.Sale, epoch)
		}
		row.State, row.Taken = shop.StockDone, taken
		if taken == 0 {
			row.State = shop.StockRefused
		}
		return row.act(), s.endStock(ctx, tx, &row)
	})
}

// unsettledBecause returns the reason why the sale's row did not match.
func unsettledBecause(ctx context.Context, tx bun.Conn, sale shop.ID, epoch int64) error {
	var now int64
	if err := tx.QueryRowContext(ctx, "SELECT epoch FROM sales WHERE id = ?", sale).Scan(&now); err != nil {
		return err
	}
	if now != epoch {
		return fmt.Errorf("%w: sale %s is at epoch %d, not %d", shop.ErrStaleEpoch, sale, now, epoch)
	}
	return fmt.Errorf("%w: the database has fewer units of sale %s free than Redis took", shop.ErrPermanent, sale)
}

// RefuseStock ends a pending withdrawal of a sale that has left Redis permanently, because Redis will never decide it.
// Otherwise it changes nothing.
func (s *Store) RefuseStock(ctx context.Context, id int64) (shop.StockAct, error) {
	return inTx(ctx, s, fmt.Sprintf("refuse withdrawal %d", id), func(tx bun.Conn) (shop.StockAct, error) {
		row, err := s.lockStock(ctx, tx, id)
		if err != nil || row.State != shop.StockPending {
			return row.act(), err
		}
		var retired int64
		if err := tx.QueryRowContext(ctx, "SELECT retired_at FROM sales WHERE id = ?", row.Sale).Scan(&retired); err != nil {
			return row.act(), err
		}
		if retired == 0 {
			return row.act(), nil
		}
		row.State = shop.StockRefused
		return row.act(), s.endStock(ctx, tx, &row)
	})
}

func (s *Store) lockStock(ctx context.Context, tx bun.Conn, id int64) (row stockRow, err error) {
	err = s.locking(tx.NewSelect().Model(&row)).Where("id = ?", id).Scan(ctx)
	return row, err
}

func (s *Store) endStock(ctx context.Context, tx bun.Conn, row *stockRow) error {
	return execMatching(ctx, tx, 1, "end a withdrawal",
		"UPDATE stock_operations SET state = ?, taken = ?, settled_at = "+s.d.now+" WHERE id = ? AND state = ?",
		row.State, row.Taken, row.ID, shop.StockPending)
}
