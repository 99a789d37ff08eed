package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Withdrawals keeps the stock that operators take out of sales.
type Withdrawals struct{ *session }

// withdrawalRow is the row of a shop.StockWithdrawal.
type withdrawalRow struct {
	bun.BaseModel `bun:"table:stock_operations"`

	ID        int64           `bun:"id,pk"`
	Sale      shop.ID         `bun:"sale_id"`
	Units     int64           `bun:"units"`
	Taken     int64           `bun:"taken"`
	State     shop.StockState `bun:"state"`
	CreatedAt shop.Millis     `bun:"created_at"`
	SettledAt shop.Millis     `bun:"settled_at"`
}

func (r *withdrawalRow) withdrawal() shop.StockWithdrawal {
	return shop.StockWithdrawal{ID: r.ID, Sale: r.Sale, Units: r.Units, Taken: r.Taken, State: r.State, At: r.CreatedAt}
}

// maxWithdrawals limits the withdrawals of a sale, which Redis stores with it.
const maxWithdrawals = 200

// withdrawalsPerGeneration exceeds the number of withdrawals in one generation of the database.
const withdrawalsPerGeneration = 1_000_000

// AddWithdrawal enters a pending withdrawal of units and returns it with its number. It raises the version of the
// catalogue, whose row lock serialises callers, so that numbers are assigned in order.
func (s Withdrawals) AddWithdrawal(ctx context.Context, sale shop.ID, units int64) (shop.StockWithdrawal, error) {
	return inTx(ctx, s.session, "request a withdrawal from sale "+sale.String(), func(tx bun.Conn) (shop.StockWithdrawal, error) {
		if err := s.raise(ctx, tx, settingVersion); err != nil {
			return shop.StockWithdrawal{}, err
		}
		n, err := tx.NewSelect().Model((*withdrawalRow)(nil)).Where("sale_id = ?", sale).Count(ctx)
		if err != nil {
			return shop.StockWithdrawal{}, err
		}
		if n >= maxWithdrawals {
			return shop.StockWithdrawal{}, shop.Fail(shop.LimitReached,
				fmt.Sprintf("units were withdrawn from this sale %d times, which is the limit", n))
		}
		row := withdrawalRow{Sale: sale, Units: units, State: shop.StockPending}
		// Redis stores its decision under the number, even for a withdrawal that the database has lost. A new
		// generation therefore starts at higher numbers.
		err = tx.QueryRowContext(ctx, "SELECT "+s.d.greatest+"(COALESCE(MAX(id), 0), ?) + 1, "+s.d.now+
			" FROM stock_operations", s.fence.generation()*withdrawalsPerGeneration).
			Scan(&row.ID, &row.CreatedAt)
		if err != nil {
			return shop.StockWithdrawal{}, err
		}
		return row.withdrawal(), insert(ctx, tx, &row)
	})
}

// Withdrawal reads one withdrawal. ErrNoRow: no such withdrawal.
func (s Withdrawals) Withdrawal(ctx context.Context, id int64) (shop.StockWithdrawal, error) {
	var row withdrawalRow
	err := s.db.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
	return row.withdrawal(), wrap(fmt.Sprintf("read withdrawal %d", id), err)
}

// PendingWithdrawals lists withdrawals that are not settled, the oldest first.
func (s Withdrawals) PendingWithdrawals(ctx context.Context, limit int) ([]shop.StockWithdrawal, error) {
	var rows []withdrawalRow
	err := s.db.NewSelect().Model(&rows).Where("state = ?", shop.StockPending).Order("id").Limit(int64(limit)).Scan(ctx)
	return convert(rows, (*withdrawalRow).withdrawal), wrap("read pending withdrawals", err)
}

// SettledWithdrawals lists the settled withdrawals of a sale.
func (s Sales) SettledWithdrawals(ctx context.Context, sale shop.ID) ([]shop.StockWithdrawal, error) {
	var rows []withdrawalRow
	err := s.db.NewSelect().Model(&rows).Where("sale_id = ? AND state <> ?", sale, shop.StockPending).Order("id").Scan(ctx)
	return convert(rows, (*withdrawalRow).withdrawal), wrap("read the withdrawals of sale "+sale.String(), err)
}

// SettleWithdrawal counts the units that Redis took under the epoch as withdrawn, once, and returns the withdrawal.
// ErrStaleEpoch: Redis was recovered since then, and must decide again. The update of the sale requires the epoch,
// because a recovery raises the epoch before it reads the sale (I8).
func (s Withdrawals) SettleWithdrawal(ctx context.Context, id, taken, epoch int64) (shop.StockWithdrawal, error) {
	return inTx(ctx, s.session, fmt.Sprintf("settle withdrawal %d", id), func(tx bun.Conn) (shop.StockWithdrawal, error) {
		row, err := s.lockWithdrawal(ctx, tx, id)
		if err != nil || row.State != shop.StockPending {
			return row.withdrawal(), err
		}
		if taken < 0 || taken > row.Units {
			return row.withdrawal(), fmt.Errorf("%w: %d of %d units were taken", shop.ErrPermanent, taken, row.Units)
		}
		matched, err := exec(ctx, tx, "UPDATE sales SET withdrawn = withdrawn + ? WHERE id = ? AND epoch = ?"+
			" AND taken + withdrawn + ? <= initial + added", taken, row.Sale, epoch, taken)
		if err != nil {
			return row.withdrawal(), withLockedSale(err, row.Sale)
		}
		if matched == 0 {
			return row.withdrawal(), unsettledReason(ctx, tx, row.Sale, epoch)
		}
		row.State, row.Taken = shop.StockDone, taken
		if taken == 0 {
			row.State = shop.StockRefused
		}
		return row.withdrawal(), s.endWithdrawal(ctx, tx, &row)
	})
}

// unsettledReason returns an error with the reason why the update did not match the row of the sale.
func unsettledReason(ctx context.Context, tx bun.Conn, sale shop.ID, epoch int64) error {
	var now int64
	if err := tx.QueryRowContext(ctx, "SELECT epoch FROM sales WHERE id = ?", sale).Scan(&now); err != nil {
		return err
	}
	if now != epoch {
		return fmt.Errorf("%w: sale %s is at epoch %d, not %d", shop.ErrStaleEpoch, sale, now, epoch)
	}
	return fmt.Errorf("%w: the database has fewer units of sale %s free than Redis took", shop.ErrPermanent, sale)
}

// RefuseWithdrawal refuses a pending withdrawal of a sale that has left Redis permanently, because Redis cannot decide
// it any more. It changes no other withdrawal.
func (s Withdrawals) RefuseWithdrawal(ctx context.Context, id int64) (shop.StockWithdrawal, error) {
	return inTx(ctx, s.session, fmt.Sprintf("refuse withdrawal %d", id), func(tx bun.Conn) (shop.StockWithdrawal, error) {
		row, err := s.lockWithdrawal(ctx, tx, id)
		if err != nil || row.State != shop.StockPending {
			return row.withdrawal(), err
		}
		var retired int64
		if err := tx.QueryRowContext(ctx, "SELECT retired_at FROM sales WHERE id = ?", row.Sale).Scan(&retired); err != nil {
			return row.withdrawal(), err
		}
		if retired == 0 {
			return row.withdrawal(), nil
		}
		row.State = shop.StockRefused
		return row.withdrawal(), s.endWithdrawal(ctx, tx, &row)
	})
}

func (s Withdrawals) lockWithdrawal(ctx context.Context, tx bun.Conn, id int64) (row withdrawalRow, err error) {
	err = s.locking(tx.NewSelect().Model(&row)).Where("id = ?", id).Scan(ctx)
	return row, err
}

func (s Withdrawals) endWithdrawal(ctx context.Context, tx bun.Conn, row *withdrawalRow) error {
	return execMatching(ctx, tx, 1, "end a withdrawal",
		"UPDATE stock_operations SET state = ?, taken = ?, settled_at = "+s.d.now+" WHERE id = ? AND state = ?",
		row.State, row.Taken, row.ID, shop.StockPending)
}
