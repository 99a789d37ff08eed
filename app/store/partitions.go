package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/migrations/sqllock"
)

// Partitions keeps the epochs, locks and marks of the partitions.
type Partitions struct{ *session }

// maxPartitions is far above any real use. It prevents a typing error in the configuration from creating tens of
// thousands of streams.
const maxPartitions = 1024

// ErrPartitions means that the database was created for another number of partitions. The number is part of every Redis
// key and every sale, so configuration cannot change it.
var ErrPartitions = errors.New("other number of partitions")

// EnsurePartitions stores the number of partitions, 1–1024, at the first start, with one row for each. ErrPartitions:
// the database has another number.
func (s Partitions) EnsurePartitions(ctx context.Context, n int) error {
	if n < 1 || n > maxPartitions {
		return fmt.Errorf("number of partitions: %d is not in 1–%d", n, maxPartitions)
	}
	return s.inTx(ctx, "check the number of partitions", func(tx bun.Conn) error {
		// Writing the value to itself locks an existing row, so that two concurrent first starts use the same number.
		_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, ?) "+s.d.onDuplicate+" value = settings.value",
			settingPartitions, fmt.Sprint(n))
		if err != nil {
			return err
		}
		stored, err := setting(ctx, tx, settingPartitions)
		if err != nil {
			return err
		}
		if stored != int64(n) {
			return fmt.Errorf("%w: the database was created for %d, the configuration has %d; set STAMPEDE_PARTITIONS=%d",
				ErrPartitions, stored, n, stored)
		}
		if err := s.History().addHistory(ctx, tx); err != nil {
			return err
		}
		var rows int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM partitions").Scan(&rows); err != nil || rows >= n {
			return err
		}
		for p := range n {
			if err := s.addPartition(ctx, tx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Partitions) addPartition(ctx context.Context, tx bun.Conn, partition int) error {
	_, err := exec(ctx, tx, "INSERT INTO partitions (id, epoch) VALUES (?, ?) "+s.d.onDuplicate+" epoch = partitions.epoch",
		partition, shop.FirstEpoch)
	return err
}

// lockPartition reads the epoch and locks its row until the transaction ends. ErrNoRow: no such partition.
func (s Partitions) lockPartition(ctx context.Context, tx bun.Conn, partition int) (epoch int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT epoch FROM partitions WHERE id = ?"+s.d.forUpdate, partition).Scan(&epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("partition %d: %w", partition, shop.ErrNoRow)
	}
	return epoch, err
}

// PartitionEpoch reads the epoch of a partition, and the highest seq of the orders of all its sales, including sales
// that have left Redis. ErrNoRow: no such partition.
func (s Partitions) PartitionEpoch(ctx context.Context, partition int) (epoch, seq int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT epoch, "+s.d.greatest+"(seq, (SELECT COALESCE(MAX(seq), 0) FROM sales"+
		" WHERE part = partitions.id AND retired_at = 0 AND epoch > 0)) FROM partitions WHERE id = ?", partition).
		Scan(&epoch, &seq)
	return epoch, seq, wrap(fmt.Sprintf("read epoch of partition %d", partition), err)
}

// keepSeq stores the highest seq of a sale that leaves Redis in its partition. It locks the row of the partition first
// and then the row of the sale, like all transactions. Both rows stay locked until the transaction ends.
func (s Partitions) keepSeq(ctx context.Context, tx bun.Conn, sale shop.ID) error {
	var part int
	var seq int64
	err := tx.QueryRowContext(ctx, "SELECT part FROM sales WHERE id = ?", sale).Scan(&part)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.lockPartition(ctx, tx, part); err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, "SELECT seq FROM sales WHERE id = ?"+s.d.forUpdate, sale).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process removed the sale and stored its seq
	}
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, "UPDATE partitions SET seq = "+s.d.greatest+"(seq, ?) WHERE id = ?", seq, part)
	return err
}

// lastOrderRow holds the columns of a shop.LastOrder.
type lastOrderRow struct {
	Order shop.ID `bun:"id"`
	Sale  shop.ID `bun:"sale_id"`
	User  shop.ID `bun:"user_id"`
}

// RaiseChanges records the number of changes of the partition in Redis, under its epoch. An older state of Redis is
// then recognized after all nodes have restarted (I8).
func (s Partitions) RaiseChanges(ctx context.Context, partition int, epoch, changes int64) error {
	_, err := s.run(ctx, fmt.Sprintf("record the changes of partition %d", partition),
		"UPDATE partitions SET changes = ? WHERE id = ? AND epoch = ? AND changes < ?", changes, partition, epoch, changes)
	return err
}

// Known reads the recorded number of changes of the partition, and the generation under which it was inspected.
func (s Partitions) Known(ctx context.Context, partition int) (changes, generation int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT changes, generation FROM partitions WHERE id = ?", partition).
		Scan(&changes, &generation)
	return changes, generation, wrap(fmt.Sprintf("read the changes of partition %d", partition), err)
}

// MarkInspected records that the partition was inspected under the generation: its orders may change.
func (s Partitions) MarkInspected(ctx context.Context, partition int, generation int64) error {
	_, err := s.run(ctx, fmt.Sprintf("mark partition %d as inspected", partition),
		"UPDATE partitions SET generation = ? WHERE id = ? AND generation < ?", generation, partition, generation)
	return err
}

// LastOrders returns, for each sale that Redis should have, the order with the highest seq in the database. Redis must
// contain this order, because it was accepted in Redis before its row was written.
func (s Partitions) LastOrders(ctx context.Context, partition int) ([]shop.LastOrder, error) {
	var rows []lastOrderRow
	err := s.db.NewRaw("SELECT o.id, o.sale_id, o.user_id FROM sales AS s JOIN orders AS o ON o.id = s.last_order"+
		" WHERE s.part = ? AND s.retired_at = 0 AND s.epoch > 0", partition).Scan(ctx, &rows)
	return convert(rows, func(r *lastOrderRow) shop.LastOrder {
		return shop.LastOrder{Sale: shop.SaleRef{ID: r.Sale, Partition: partition}, User: r.User, Order: r.Order}
	}), wrap(fmt.Sprintf("read newest orders of partition %d", partition), err)
}

// AdvanceEpoch raises the epoch of the partition and of its loaded sales to 1 + the larger of the stored epoch and
// `above`. After its commit, a transaction with the old epoch has already committed or matches no row.
func (s Partitions) AdvanceEpoch(ctx context.Context, partition int, above int64) (int64, error) {
	action := fmt.Sprintf("advance the epoch of partition %d", partition)
	return inTx(ctx, s.session, action, func(tx bun.Conn) (int64, error) {
		return s.advanceEpoch(ctx, tx, partition, above)
	})
}

func (s Partitions) advanceEpoch(ctx context.Context, tx bun.Conn, partition int, above int64) (next int64, err error) {
	if err := s.addPartition(ctx, tx, partition); err != nil {
		return 0, err
	}
	current, err := s.lockPartition(ctx, tx, partition)
	if err != nil {
		return 0, err
	}
	next = max(current, above) + 1
	if _, err := exec(ctx, tx, "UPDATE partitions SET epoch = ? WHERE id = ?", next, partition); err != nil {
		return 0, err
	}
	// All transactions lock sales in the order of their ids.
	var sales []shop.ID
	err = tx.NewRaw("SELECT id FROM sales WHERE part = ? AND epoch > 0 ORDER BY id"+s.d.forUpdate, partition).
		Scan(ctx, &sales)
	if err != nil || len(sales) == 0 {
		return next, err
	}
	_, err = exec(ctx, tx, "UPDATE sales SET epoch = ? WHERE id IN (?)", next, bun.List(sales))
	return next, err
}

// lockMaxIdle is the time after which a process that stalls during a recovery loses the lock.
const lockMaxIdle = 10 * time.Second

// LockPartition runs fn while no other process can recover the partition. It waits for the lock until ctx ends. When
// the lock is lost, the context of fn ends. The process that takes the lock raises the epoch, so that later writes of
// fn are rejected.
func (s Partitions) LockPartition(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	if s.writer != nil { // SQLite: only one process
		return s.lockInProcess(ctx, partition, fn)
	}
	lock := sqllock.Lock{Name: fmt.Sprintf("stampede:recover:%d", partition), MaxIdle: lockMaxIdle}
	began := false
	err := lock.Hold(ctx, s.conns, func(ctx context.Context) error {
		began = true
		return fn(ctx)
	})
	if began && !errors.Is(err, sqllock.ErrLost) {
		return err // the error of fn, which has its kind
	}
	return wrap(fmt.Sprintf("lock the recovery of partition %d", partition), err)
}

func (s Partitions) lockInProcess(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	made, _ := s.recoveryLocks.LoadOrStore(partition, make(chan struct{}, 1))
	turn := made.(chan struct{})
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		return fn(ctx)
	case <-ctx.Done():
		return wrap(fmt.Sprintf("lock the recovery of partition %d", partition), ctx.Err())
	}
}
