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

// Store reads and writes the database: each call in a transaction of its own, or, in Act, all calls in one. A store
// from Open is safe for concurrent use.
type Store struct {
	*pool

	db bun.IDB // the pool, or the connection of act
	// act is the transaction that all calls take part in; nil: each call has its own.
	act *actTx
}

// pool is an open database.
type pool struct {
	// Around, if set, runs each transaction, or does not and returns another error: a hook for faults.
	Around func(ctx context.Context, run func() error) error

	conns *bun.DB
	d     dialect

	fence     *fence
	connector driver.Connector // of MySQL, without a fence

	// writer admits one write transaction at a time on SQLite, which would otherwise poll; nil on MySQL.
	writer chan struct{}

	// expiring limits the transactions that end orders in bulk to a quarter of the connections, so that a deadline of
	// ten thousand orders leaves the others to buys.
	expiring chan struct{}

	archiving chan struct{} // who moves orders to the archive, on SQLite

	recovers sync.Map // partition → chan struct{}: who recovers it, on SQLite
}

// newStore makes the store of an open database.
func newStore(p *pool) *Store { return &Store{pool: p, db: p.conns} }

// DB is the handle for migrations and checks.
func (s *Store) DB() *bun.DB { return s.conns }

// Ping reports whether the database answers. ErrTransient if not.
func (s *Store) Ping(ctx context.Context) error {
	return wrap("reach the database", s.conns.PingContext(ctx))
}

// Close ends all connections.
func (s *Store) Close() error {
	if err := s.conns.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// victimTries is how often a transaction is tried that the server rolls back to end a deadlock.
const victimTries = 5

// rollbackTimeout is what a failed transaction may take beyond its caller's context.
const rollbackTimeout = time.Second

// inTx runs fn in a transaction and commits it. fn may run several times, each time from scratch. The error is
// classified; when it wraps ErrTransient, the transaction may have been committed all the same. In Act, fn becomes a
// part of that transaction.
func (s *Store) inTx(ctx context.Context, what string, fn func(tx bun.Conn) error) error {
	if s.act != nil {
		return wrap(what, s.act.join(fn))
	}
	if s.Around == nil {
		return s.untilNoVictim(ctx, what, fn)
	}
	return s.Around(ctx, func() error { return s.untilNoVictim(ctx, what, fn) })
}

// untilNoVictim runs fn in a transaction, again while the server rolls it back to end a deadlock.
func (s *Store) untilNoVictim(ctx context.Context, what string, fn func(tx bun.Conn) error) (err error) {
	for range victimTries {
		if err = s.tryTx(ctx, fn); !saysMySQL(err, mysqlDeadlock) {
			break
		}
	}
	return wrap(what, ended(ctx, err))
}

// ended adds the end of the context to the driver's ErrBadConn: the driver closes the connection for that reason.
func ended(ctx context.Context, err error) error {
	if why := ctx.Err(); why != nil && errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}

// inTx is Store.inTx for what has a result.
func inTx[T any](ctx context.Context, s *Store, what string, fn func(tx bun.Conn) (T, error)) (result T, err error) {
	err = s.inTx(ctx, what, func(tx bun.Conn) (err error) {
		result, err = fn(tx)
		return err
	})
	return result, err
}

// tryTx runs BEGIN and COMMIT as statements, because those of database/sql cannot be interrupted: a server that has
// stopped answering would hold the caller far beyond its context.
func (s *Store) tryTx(ctx context.Context, fn func(tx bun.Conn) error) error {
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
			abandon(ctx, conn)
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

// abandon ends a transaction that failed, also after a lock wait timeout, which undoes only its statement. If the
// server does not confirm that, the connection is thrown away, and the server rolls back by itself.
func abandon(ctx context.Context, conn bun.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// inSnapshot runs fn in a read-only transaction whose reads all see one instant.
func (s *Store) inSnapshot(ctx context.Context, what string, fn func(tx bun.Tx) error) error {
	tx, err := s.conns.BeginTx(ctx, s.d.snapshot)
	if err != nil {
		return wrap(what, err)
	}
	err = fn(tx)
	_ = tx.Rollback() // it wrote nothing
	return wrap(what, err)
}

// exec runs a statement and tells how many rows it matched, changed or not.
func exec(ctx context.Context, db bun.IDB, query string, args ...any) (int64, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execMatching runs a statement that must match exactly so many rows, because locks taken before it promise that.
func execMatching(ctx context.Context, tx bun.IDB, want int, what, query string, args ...any) error {
	matched, err := exec(ctx, tx, query, args...)
	if err == nil && matched != int64(want) {
		err = fmt.Errorf("%w: %s: %d rows instead of %d", shop.ErrPermanent, what, matched, want)
	}
	return err
}

// insert writes new rows.
func insert(ctx context.Context, tx bun.Conn, rows any) error {
	_, err := tx.NewInsert().Model(rows).Returning("NULL").Exec(ctx)
	return err
}

// run executes one statement in a transaction of its own and returns how many rows it matched.
func (s *Store) run(ctx context.Context, what, query string, args ...any) (int64, error) {
	return inTx(ctx, s, what, func(tx bun.Conn) (int64, error) { return exec(ctx, tx, query, args...) })
}

// changeRow is run for a conditional change of one row. ErrNoRow if none matched.
func (s *Store) changeRow(ctx context.Context, what, query string, args ...any) error {
	return s.inTx(ctx, what, func(tx bun.Conn) error { return orNoRow(exec(ctx, tx, query, args...)) })
}

// wallClock is for columns that only order duties or inform people. It decides nothing (I10).
func wallClock() shop.Millis { return shop.MillisOf(time.Now()) }

// dialect holds the few words in which the databases differ.
type dialect struct {
	begin     string // starts a transaction that will write
	forUpdate string // ends a SELECT whose rows must not change before the commit
	greatest  string // the larger of its arguments
	now       string // the database's clock, Unix ms
	server    string // identifies the server: 8 hex digits, different after a failover
	history   string // identifies server and generation: 8 hex digits, different after each recovery
	changed   string // when a row of orders was stamped, Unix ms of that clock
	stamp     string // stamps a row of orders
	byValues  string // changes rows of sales by a table of values with a row_id: the table, what is set, where
	onTaken   string // begins the update part of an INSERT that met its primary key
	snapshot  *sql.TxOptions
	defaults  bool // columns of orders have their defaults, see unsaid
}

var mysqlWords = dialect{
	begin:     "START TRANSACTION",
	forUpdate: " FOR UPDATE",
	greatest:  "GREATEST",
	// SYSDATE is the instant of evaluation; NOW is that of the statement's start, before its waits.
	now:     "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
	server:  "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id), 256), 8)",
	history: "LEFT(SHA2(CONCAT_WS('/', @@hostname, @@port, @@server_id, (SELECT generation FROM history)), 256), 8)",
	changed: "CAST(UNIX_TIMESTAMP(changed_at) * 1000 AS SIGNED)",
	stamp:   "changed_at = SYSDATE(3)",
	// In this order of the tables, and so no row is locked that is not in the values.
	byValues: "UPDATE (%[1]s) AS v STRAIGHT_JOIN sales ON sales.id = v.row_id SET %[2]s WHERE %[3]s",
	onTaken:  "ON DUPLICATE KEY UPDATE",
	snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	defaults: true,
}

// On SQLite a write transaction locks the whole file from its start, and a read transaction always sees one instant.
var sqliteWords = dialect{
	begin:    "BEGIN IMMEDIATE",
	greatest: "MAX",
	now:      "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	server:   "'00000001'", // not 00000000, which is nobody's
	history:  "'00000001'",
	changed:  "changed_at",
	stamp:    "changed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)",
	byValues: "UPDATE sales SET %[2]s FROM (%[1]s) AS v WHERE sales.id = v.row_id AND %[3]s",
	onTaken:  "ON CONFLICT DO UPDATE SET",
	snapshot: &sql.TxOptions{ReadOnly: true},
}
