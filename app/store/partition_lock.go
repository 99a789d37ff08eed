package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/migrations/sqllock"
)

// lockSilence is after how long a process that stands still in the middle of a recovery has lost its turn.
const lockSilence = 10 * time.Second

// LockPartition runs fn while no other process can recover the partition; it waits until ctx ends. fn's context ends
// when the lock is lost; the epoch fences what fn still does.
func (s *Store) LockPartition(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	if s.writer != nil { // SQLite: one process
		return s.lockInProcess(ctx, partition, fn)
	}
	lock := sqllock.Lock{Name: fmt.Sprintf("stampede:recover:%d", partition), Silence: lockSilence}
	began := false
	err := lock.Hold(ctx, s.db, func(ctx context.Context) error {
		began = true
		return fn(ctx)
	})
	if began && !errors.Is(err, sqllock.ErrLost) {
		return err // fn's own, which has its kind
	}
	return wrap(fmt.Sprintf("lock the recovery of partition %d", partition), err)
}

func (s *Store) lockInProcess(ctx context.Context, partition int, fn func(ctx context.Context) error) error {
	made, _ := s.recovers.LoadOrStore(partition, make(chan struct{}, 1))
	turn := made.(chan struct{})
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
		return fn(ctx)
	case <-ctx.Done():
		return wrap(fmt.Sprintf("lock the recovery of partition %d", partition), ctx.Err())
	}
}
