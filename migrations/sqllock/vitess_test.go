//go:build vitess

package sqllock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations/sqllock"
)

// A lock on Vitess is one on a connection between vttablet and MySQL, which vttablet ends after its transaction
// timeout, 10 s in vitess.sh, unless somebody asks about the lock: a ping is answered by vtgate alone. Asking keeps it.
func TestLockOutlivesTheTransactionTimeoutOfVitess(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	s, err := store.OpenMySQL(ctx, kit.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lock := sqllock.Lock{Name: "stampede:long", Wait: 15 * time.Second, Silence: time.Minute}
	nothing := func(context.Context) error { return nil }
	err = lock.Hold(ctx, s.DB(), func(held context.Context) error {
		if err := lock.Hold(ctx, s.DB(), nothing); !errors.Is(err, sqllock.ErrHeld) {
			t.Errorf("somebody else, after 15 s: %v, want ErrHeld", err)
		}
		return context.Cause(held)
	})
	if err != nil {
		t.Errorf("the holder: %v", err)
	}
	if err := lock.Hold(ctx, s.DB(), nothing); err != nil {
		t.Errorf("after the holder: %v", err)
	}
}
