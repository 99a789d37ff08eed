package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// lockCheck is how often the connection that carries a rebuild lock is asked whether it still lives.
const lockCheck = 2 * time.Second

// LockRebuild runs fn while no other process can rebuild the partition; it waits for its turn until ctx
// ends. fn's context ends when the lock is lost. Should fn go on for a moment after that, the epoch fences
// it.
func (s *Store) LockRebuild(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	if s.writer != nil { // SQLite: one process
		return s.lockInProcess(ctx, partition, fn)
	}
	what := fmt.Sprintf("lock the rebuild of partition %d", partition)
	// A connection of its own: the lock belongs to it and ends with it, also in a crash.
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return wrap(what, err)
	}
	defer conn.Close()
	// Names are short and belong to the whole server, hence the hash of the database's name.
	name := fmt.Sprintf("CONCAT('stampede:rebuild:%d:', MD5(DATABASE()))", partition)
	for got := false; !got; {
		// Short waits, because the connection has a read timeout.
		if err := conn.QueryRowContext(ctx, "SELECT COALESCE(GET_LOCK("+name+", 1), 0)").Scan(&got); err != nil {
			return wrap(what, err)
		}
	}
	defer func() {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+name+")")
	}()
	return whileAlive(ctx, conn, fn)
}

// whileAlive runs fn and ends its context when the connection is gone.
func whileAlive(ctx context.Context, conn bun.Conn, fn func(ctx context.Context) error) error {
	inner, lost := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lockCheck)
		defer tick.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-tick.C:
				if err := conn.PingContext(inner); err != nil && inner.Err() == nil {
					lost(wrap("keep the rebuild lock", err))
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

func (s *Store) lockInProcess(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	made, _ := s.rebuilds.LoadOrStore(partition, make(chan struct{}, 1))
	turn := made.(chan struct{})
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		return fn(ctx)
	case <-ctx.Done():
		return wrap(fmt.Sprintf("lock the rebuild of partition %d", partition), ctx.Err())
	}
}
