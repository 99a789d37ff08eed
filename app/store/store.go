package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Store is an open database. It hands out one type per subject, whose calls have a transaction each. The store of an
// operation (RunOperation) hands out types whose calls share the transaction of the operation. A store from OpenMySQL
// or OpenSQLite, and its types, are safe for concurrent use.
type Store struct{ *session }

// session runs statements and transactions: each call has its own transaction, or all share that of an operation.
type session struct {
	*pool

	db bun.IDB // the pool, or the connection of the operation
	// operation is the transaction that all calls join; nil: each call has its own.
	operation *operationTx
	// recovers: the session belongs to a recovery, which changes orders of partitions that it has not opened yet.
	recovers bool
}

// pool is an open database.
type pool struct {
	// WrapTransaction, if set, wraps each transaction: it calls `run`, or returns an error instead. It is a hook for
	// fault injection.
	WrapTransaction func(ctx context.Context, run func() error) error

	conns *bun.DB
	d     dialect

	fence     *fence
	faults    *faultLog
	connector driver.Connector // opens MySQL connections without a fence; nil on SQLite

	// writer admits one write transaction at a time on SQLite, which would otherwise poll for its lock; nil on MySQL.
	writer chan struct{}

	// expiring limits the transactions that end orders in bulk to a quarter of the connections. When ten thousand
	// orders reach their deadline, the other connections stay available for buys.
	expiring chan struct{}

	recoveryLocks sync.Map // partition → chan struct{}: one recovery per partition, on SQLite
}

func newStore(p *pool) *Store { return &Store{&session{pool: p, db: p.conns}} }

// DB returns the handle for migrations and checks.
func (s *Store) DB() *bun.DB { return s.conns }

// Ping checks that the database is reachable. ErrTransient: it is unreachable.
func (s *Store) Ping(ctx context.Context) error {
	return wrap("reach the database", s.conns.PingContext(ctx))
}

// Close closes all connections.
func (s *Store) Close() error {
	if err := s.conns.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// deadlockTries limits the attempts of a transaction that the server rolls back to end a deadlock.
const deadlockTries = 5

// rollbackTimeout limits the rollback of a failed transaction, which may outlast the caller's context.
const rollbackTimeout = time.Second

// inTx runs fn in a transaction and commits it. fn may run several times, each time from scratch. The error is
// classified; if it wraps ErrTransient, the transaction may nevertheless be committed. In RunOperation, fn joins that
// transaction.
func (s *session) inTx(ctx context.Context, action string, fn func(tx bun.Conn) error) error {
	if s.operation != nil {
		return wrap(action, s.operation.join(fn))
	}
	if s.WrapTransaction == nil {
		return s.retryDeadlocks(ctx, action, fn)
	}
	return s.WrapTransaction(ctx, func() error { return s.retryDeadlocks(ctx, action, fn) })
}

// retryDeadlocks runs fn in a transaction and repeats it while the server rolls it back to end a deadlock.
func (s *session) retryDeadlocks(ctx context.Context, action string, fn func(tx bun.Conn) error) (err error) {
	for range deadlockTries {
		if err = s.tryTx(ctx, fn); !isMySQLError(err, mysqlDeadlock) {
			break
		}
	}
	return wrap(action, withContextError(ctx, err))
}

// withContextError adds the context's error to driver.ErrBadConn, because the driver closes the connection when the
// context ends.
func withContextError(ctx context.Context, err error) error {
	if contextErr := ctx.Err(); contextErr != nil && errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("%w: %w", contextErr, err)
	}
	return err
}

// inTx is session.inTx for functions with a result.
func inTx[T any](
	ctx context.Context, s *session, action string, fn func(tx bun.Conn) (T, error),
) (result T, err error) {
	err = s.inTx(ctx, action, func(tx bun.Conn) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}

// tryTx runs BEGIN and COMMIT as statements, because BeginTx and Commit of database/sql cannot be interrupted. With
// them, a server that no longer responds would block the caller long after the end of its context.
func (s *session) tryTx(ctx context.Context, fn func(tx bun.Conn) error) error {
	if s.writer != nil {
		select {
		case s.writer <- struct{}{}:
			defer func() { <-s.writer }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	conn, err := s.conns.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, conn)
		}
	}()
	if _, err := conn.ExecContext(ctx, s.d.begin); err != nil {
		return err
	}
	if err := fn(conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	committed = true
	return nil
}

// rollback rolls a failed transaction back. A lock wait timeout alone undoes only its statement. If the server does not
// confirm the rollback, the connection is discarded, and the server rolls back by itself.
func rollback(ctx context.Context, conn bun.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// inSnapshot runs fn in a read-only transaction whose reads all see the same instant.
func (s *session) inSnapshot(ctx context.Context, action string, fn func(tx bun.Tx) error) error {
	tx, err := s.conns.BeginTx(ctx, s.d.snapshot)
	if err != nil {
		return wrap(action, err)
	}
	err = fn(tx)
	_ = tx.Rollback() // fn wrote nothing
	return wrap(action, err)
}

// exec runs a statement and returns how many rows it matched, changed or not.
func exec(ctx context.Context, db bun.IDB, query string, args ...any) (int64, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execMatching runs a statement on locked rows that must match exactly `want` rows. ErrPermanent: it matched another
// number.
func execMatching(ctx context.Context, tx bun.IDB, want int, action, query string, args ...any) error {
	matched, err := exec(ctx, tx, query, args...)
	if err == nil && matched != int64(want) {
		err = fmt.Errorf("%w: %s: %d rows instead of %d", shop.ErrPermanent, action, matched, want)
	}
	return err
}

// insert writes new rows.
func insert(ctx context.Context, tx bun.Conn, rows any) error {
	_, err := tx.NewInsert().Model(rows).Returning("NULL").Exec(ctx)
	return err
}

// run executes one statement in a transaction of its own and returns how many rows it matched.
func (s *session) run(ctx context.Context, action, query string, args ...any) (int64, error) {
	return inTx(ctx, s, action, func(tx bun.Conn) (int64, error) { return exec(ctx, tx, query, args...) })
}

// changeRow runs a conditional change of one row. ErrNoRow: no row matched.
func (s *session) changeRow(ctx context.Context, action, query string, args ...any) error {
	return s.inTx(ctx, action, func(tx bun.Conn) error { return noRowIfUnmatched(exec(ctx, tx, query, args...)) })
}

// wallClock is the process's clock, for columns that only order background jobs or inform people. No decision depends
// on it (I10).
func wallClock() shop.Millis { return shop.MillisOf(time.Now()) }

// dialect holds the SQL fragments in which the databases differ.
type dialect struct {
	begin       string // starts a write transaction
	forUpdate   string // ends a SELECT that locks its rows until the commit
	greatest    string // function: the largest of its arguments
	now         string // the database's clock, Unix ms
	server      string // identifies the server: 8 hex digits, different after a failover
	history     string // identifies server and generation: 8 hex digits, different after each recovery
	changed     string // changed_at of a row of orders, Unix ms of the database's clock
	touch       string // sets changed_at of a row of orders
	byValues    string // updates sales from a table of values with row_id; %[1]s: table, %[2]s: SET, %[3]s: WHERE
	onDuplicate string // begins the update part of an INSERT whose primary key exists
	snapshot    *sql.TxOptions
	defaults    bool // columns of orders have defaults, see columnDefaults
}

var mysqlDialect = dialect{
	begin:     "START TRANSACTION",
	forUpdate: " FOR UPDATE",
	greatest:  "GREATEST",
	// SYSDATE returns the instant of evaluation; NOW returns the start of the statement, before its waits.
	now:     "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
	server:  "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id), 256), 8)",
	history: "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id, (SELECT generation FROM history)), 256), 8)",
	changed: "CAST(UNIX_TIMESTAMP(changed_at) * 1000 AS SIGNED)",
	touch:   "changed_at = SYSDATE(3)",
	// STRAIGHT_JOIN reads the values first, so that only the sales in the values are locked.
	byValues:    "UPDATE (%[1]s) AS v STRAIGHT_JOIN sales ON sales.id = v.row_id SET %[2]s WHERE %[3]s",
	onDuplicate: "ON DUPLICATE KEY UPDATE",
	snapshot:    &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	defaults:    true,
}

// sqliteDialect: on SQLite a write transaction locks the whole file from its start, and a read transaction always sees
// a single instant.
var sqliteDialect = dialect{
	begin:       "BEGIN IMMEDIATE",
	greatest:    "MAX",
	now:         "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	server:      "'00000001'", // not 00000000, which no server has
	history:     "'00000001'",
	changed:     "changed_at",
	touch:       "changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	byValues:    "UPDATE sales SET %[2]s FROM (%[1]s) AS v WHERE sales.id = v.row_id AND %[3]s",
	onDuplicate: "ON CONFLICT DO UPDATE SET",
	snapshot:    &sql.TxOptions{ReadOnly: true},
}
