// Package sqllock holds locks by name on a MySQL or MariaDB server. Such a lock belongs to a connection, so unlike a
// row in a table it cannot outlive a crash of its holder.
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
	// letGoWithin is what letting go may take beyond the holder's context.
	letGoWithin = time.Second
)

var (
	// ErrHeld means that somebody else had the lock all the time.
	ErrHeld = errors.New("another process holds the lock")
	// ErrLost means that the connection that held the lock has ended.
	ErrLost = errors.New("the lock was lost")
)

// Lock says which lock, and how patient its holders and those who wait are.
type Lock struct {
	Name    string        // e.g. "stampede:migrate"; each database of the server has its own of that name
	Wait    time.Duration // for whoever has it; 0: until ctx ends
	Silence time.Duration // after which the server takes it from a holder that stands still; whole seconds
}

// Hold runs fn while nobody else holds the lock. fn's context ends when the lock is lost with its connection. The error
// is fn's, with ErrLost if that happened, ErrHeld, or one of the database.
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoWithin)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name) // otherwise it ends with the connection
	}()
	return whileAlive(ctx, conn, fn)
}

// take waits for the lock and returns its name on the server.
func (l Lock) take(ctx context.Context, conn bun.Conn) (string, error) {
	if _, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = ?", int(l.Silence/time.Second)); err != nil {
		return "", fmt.Errorf("set up connection: %w", err)
	}
	var database string
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("ask for the database's name: %w", err)
	}
	name := nameIn(database, l.Name)
	for begun := time.Now(); ; {
		var got sql.NullBool // NULL: the server was asked to end the wait
		// Short waits, because the connection has a read timeout.
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 1)", name).Scan(&got); err != nil {
			return "", fmt.Errorf("lock %s: %w", l.Name, err)
		}
		if got.Bool {
			return name, nil
		}
		if l.Wait > 0 && time.Since(begun) > l.Wait {
			return "", fmt.Errorf("%w %s for %v", ErrHeld, l.Name, l.Wait)
		}
	}
}

// nameIn is the lock's name in the database. Names belong to the whole server and have 64 characters at most, hence the
// hash. It is counted here and not by the server, because MySQL 9 has no MD5() any more; and it has to be this one,
// because nodes of versions that asked the server for it must meet the same lock during an upgrade.
func nameIn(database, name string) string {
	hash := md5.Sum([]byte(database))
	return name + ":" + hex.EncodeToString(hash[:])
}

// whileAlive runs fn and ends its context when the connection ends.
func whileAlive(ctx context.Context, conn bun.Conn, fn func(ctx context.Context) error) error {
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
