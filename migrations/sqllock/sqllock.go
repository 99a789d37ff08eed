// Package sqllock provides named locks on a MySQL or MariaDB server. Such a lock belongs to a connection. When its
// holder crashes, the connection and the lock end; a row in a table would stay.
package sqllock

import (
	"context"
	"crypto/md5"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

const (
	// pingEvery is the interval of the pings on the connection that holds a lock.
	pingEvery = 2 * time.Second
	// releaseTimeout limits the release of the lock after the end of the holder's context.
	releaseTimeout = time.Second
)

var (
	// ErrHeld means that another process held the lock during the whole wait.
	ErrHeld = errors.New("another process holds the lock")
	// ErrLost means that the connection with the lock has ended.
	ErrLost = errors.New("the lock was lost")
)

// Lock is the name and the time limits of a lock.
type Lock struct {
	Name    string        // e.g. "stampede:migrate"; separate for each database of the server
	Wait    time.Duration // maximum wait for the holder; 0: until ctx ends
	MaxIdle time.Duration // after this time the server takes the lock from an inactive holder; whole seconds
}

// Hold runs fn while it holds the lock exclusively. fn's context ends when the lock is lost with its connection. Hold
// returns the error of fn (joined with ErrLost if the lock was lost), ErrHeld, or an error of the database.
func (l Lock) Hold(ctx context.Context, db *bun.DB, fn func(ctx context.Context) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	// The session has its own wait_timeout, so the connection is closed instead of returned to the pool.
	defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }()
	name, err := l.take(ctx, conn)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name) // if this fails, the lock ends with the connection
	}()
	return runWhileConnected(ctx, conn, fn)
}

// take waits for the lock and returns its name on the server.
func (l Lock) take(ctx context.Context, conn bun.Conn) (string, error) {
	if _, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = ?", int(l.MaxIdle/time.Second)); err != nil {
		return "", fmt.Errorf("set up connection: %w", err)
	}
	var database string
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("read the database's name: %w", err)
	}
	name := nameIn(database, l.Name)
	for started := time.Now(); ; {
		var got sql.NullBool // NULL: the wait was interrupted, for example by KILL QUERY; it is repeated
		// Short waits, because the connection has a read timeout.
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 1)", name).Scan(&got); err != nil {
			return "", fmt.Errorf("lock %s: %w", l.Name, err)
		}
		if got.Bool {
			return name, nil
		}
		if l.Wait > 0 && time.Since(started) > l.Wait {
			return "", fmt.Errorf("%w %s for %v", ErrHeld, l.Name, l.Wait)
		}
	}
}

// nameIn returns the lock's name for the database. Names belong to the whole server and have at most 64 characters,
// hence the hash. The client computes it, because MySQL 9.6 removed the function MD5(). It must be MD5: nodes of older
// versions, which used the server's MD5(), must use the same lock during an upgrade.
func nameIn(database, name string) string {
	hash := md5.Sum([]byte(database))
	return name + ":" + hex.EncodeToString(hash[:])
}

// runWhileConnected runs fn and ends its context when the connection ends.
func runWhileConnected(ctx context.Context, conn bun.Conn, fn func(ctx context.Context) error) error {
	inner, lost := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-tick.C:
				if err := conn.PingContext(inner); err != nil && inner.Err() == nil {
					lost(fmt.Errorf("%w: %w", ErrLost, err))
				}
			}
		}
	}()
	err := fn(inner)
	if cause := context.Cause(inner); cause != nil && ctx.Err() == nil {
		err = errors.Join(err, cause)
	}
	lost(nil)
	<-done
	return err
}
