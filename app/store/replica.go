package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stampede/app/payment"
	"stampede/app/shop"
)

const (
	// catchUpTimeout is the maximum wait until the replica has the primary's commits, in whole seconds.
	catchUpTimeout = time.Second
	// positionTimeout limits each query for a position, in case the server has stopped responding.
	positionTimeout = catchUpTimeout + time.Second
	// replicaPause is the time for which all reads use the primary after the replica was behind or unreachable.
	replicaPause = 5 * time.Second
)

// Replica reads lists and sums from a replica of the database. Each read waits until the replica has the primary's
// commits. If the replica is late, unreachable or not a replica of the primary, reads use the primary for replicaPause.
// No decision and no replay of events uses data of the replica.
type Replica struct {
	primary *Store
	open    func(ctx context.Context) (*Store, error)

	openMu       sync.Mutex // held while the replica is opened; other callers do not wait
	mu           sync.Mutex
	store        *Store // nil: not open yet
	position     positionSQL
	pausedUntil  time.Time
	loggedReason string // the logged reason for using the primary; "": the replica is read

	fromReplica, fromPrimary atomic.Int64
}

// positionSQL contains the statements that read a server's committed position and wait for it on another server. The
// statements need no privilege. MariaDB supports them with a binary log, MySQL with gtid_mode = ON.
type positionSQL struct {
	committed string // returns a position; empty if the server keeps none
	await     string // arguments: position, seconds; returns 0 when it was reached
}

var (
	mariaDBPosition = positionSQL{"SELECT @@GLOBAL.gtid_binlog_pos", "SELECT MASTER_GTID_WAIT(?, ?)"}
	mySQLPosition   = positionSQL{"SELECT @@GLOBAL.gtid_executed", "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?)"}
)

// Reasons for not reading the replica. All others are errors of the driver.
var (
	errNoPosition = errors.New("the primary reports no position: set log_bin on it, and gtid_mode = ON on MySQL")
	errBehind     = fmt.Errorf("after %s the replica lacks commits of the primary: it is behind, or not a replica of this primary",
		catchUpTimeout)
)

// OpenReplica returns a reader of the server at dsn. It connects at the first read, so that an unreachable replica does
// not delay the start.
func OpenReplica(primary *Store, dsn, certificates string) *Replica {
	return &Replica{primary: primary, open: func(ctx context.Context) (*Store, error) {
		return OpenTrustedMySQL(ctx, dsn, certificates)
	}}
}

// Reads counts the reads from the replica, and the reads that used the primary instead.
func (r *Replica) Reads() (fromReplica, fromPrimary int64) {
	return r.fromReplica.Load(), r.fromPrimary.Load()
}

// Check returns the reason why the replica cannot be read now. It checks the connection, the position and the
// privileges of the account.
func (r *Replica) Check(ctx context.Context) error {
	replica, err := r.connect(ctx)
	if err == nil {
		err = r.awaitPrimary(ctx, replica)
	}
	if err == nil {
		_, err = replica.Reports().SumSale(ctx, 0, 0, 0)
	}
	return wrap("read from the replica", err)
}

// Close closes the replica's connections; those of the primary stay open.
func (r *Replica) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.store == nil {
		return nil
	}
	return r.store.Close()
}

// FindOrders is Reports.FindOrders. A search by order id uses the primary, because an operator is about to change that
// order.
func (r *Replica) FindOrders(ctx context.Context, q OrderSearch) ([]shop.Order, bool, error) {
	return find(ctx, r, q.ID != 0, q, Reports.FindOrders)
}

// FindUsers is Reports.FindUsers. A search by name uses the primary.
func (r *Replica) FindUsers(ctx context.Context, q UserSearch) ([]shop.User, bool, error) {
	return find(ctx, r, q.Name != "", q, Reports.FindUsers)
}

// FindPayments is Reports.FindPayments. A search by order uses the primary.
func (r *Replica) FindPayments(ctx context.Context, q PaymentSearch) ([]payment.ReceivedPayment, bool, error) {
	return find(ctx, r, q.Order != 0, q, Reports.FindPayments)
}

// find runs a search on the primary if `primary` is set, otherwise like read.
func find[Q, T any](
	ctx context.Context, r *Replica, primary bool, q Q,
	search func(s Reports, ctx context.Context, q Q) ([]T, bool, error),
) (page []T, more bool, err error) {
	if primary {
		return search(r.primary.Reports(), ctx, q)
	}
	err = r.read(ctx, func(s Reports) (err error) {
		page, more, err = search(s, ctx, q)
		return err
	})
	return page, more, err
}

// Payment is Reports.Payment on the primary.
func (r *Replica) Payment(ctx context.Context, tradeNo string) (payment.ReceivedPayment, error) {
	return r.primary.Reports().Payment(ctx, tradeNo)
}

// SumSale is Reports.SumSale.
func (r *Replica) SumSale(ctx context.Context, sale shop.ID, from, to shop.Millis) (sums ReportSums, err error) {
	err = r.read(ctx, func(s Reports) (err error) {
		sums, err = s.SumSale(ctx, sale, from, to)
		return err
	})
	return sums, err
}

// read calls query with the replica, or with the primary if the replica is late or fails.
func (r *Replica) read(ctx context.Context, query func(s Reports) error) error {
	if r.paused() {
		r.fromPrimary.Add(1)
		return query(r.primary.Reports())
	}
	replica, err := r.connect(ctx)
	if err == nil {
		err = r.awaitPrimary(ctx, replica)
	}
	if err == nil {
		err = query(replica.Reports())
		if !errors.Is(err, shop.ErrTransient) && !errors.Is(err, shop.ErrMisconfigured) {
			r.readSucceeded(ctx)
			return err
		}
	}
	if ctx.Err() == nil {
		r.pause(ctx, err)
	}
	r.fromPrimary.Add(1)
	return query(r.primary.Reports())
}

// errOpening means that another caller is opening the replica.
var errOpening = errors.New("the connection to the replica is being opened")

// connect opens the replica if it is not open yet.
func (r *Replica) connect(ctx context.Context) (*Store, error) {
	r.mu.Lock()
	replica := r.store
	r.mu.Unlock()
	if replica != nil {
		return replica, nil
	}
	if !r.openMu.TryLock() {
		return nil, errOpening
	}
	defer r.openMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, positionTimeout)
	defer cancel()
	var version string
	if err := r.primary.db.QueryRowContext(ctx, "SELECT @@version").Scan(&version); err != nil {
		return nil, err
	}
	replica, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store, r.position = replica, mySQLPosition
	if strings.Contains(version, "MariaDB") {
		r.position = mariaDBPosition
	}
	return replica, nil
}

// awaitPrimary waits until the replica has the commits that the primary has now.
func (r *Replica) awaitPrimary(ctx context.Context, replica *Store) error {
	ctx, cancel := context.WithTimeout(ctx, positionTimeout)
	defer cancel()
	var position string
	if err := r.primary.db.QueryRowContext(ctx, r.position.committed).Scan(&position); err != nil {
		return err
	}
	if position == "" {
		return errNoPosition
	}
	var late int
	err := replica.db.QueryRowContext(ctx, r.position.await, position, int(catchUpTimeout/time.Second)).Scan(&late)
	if err == nil && late != 0 {
		err = errBehind
	}
	return err
}

func (r *Replica) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Before(r.pausedUntil)
}

// pause disables the replica for replicaPause. It logs each new reason once until the replica is read again.
func (r *Replica) pause(ctx context.Context, err error) {
	if errors.Is(err, errOpening) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pausedUntil = time.Now().Add(replicaPause)
	if reason := err.Error(); r.loggedReason != reason {
		r.loggedReason = reason
		slog.WarnContext(ctx, "the replica is not read; lists and reports come from the primary", "err", err)
	}
}

func (r *Replica) readSucceeded(ctx context.Context) {
	r.fromReplica.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loggedReason != "" {
		r.loggedReason = ""
		slog.InfoContext(ctx, "the replica is read again")
	}
}
