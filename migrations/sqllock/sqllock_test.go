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

func TestMain(m *testing.M) { kit.Main(m) }

// All nodes must use the same name for a lock, so the name is the same in every version of the program.
func TestNameIsFixed(t *testing.T) {
	t.Parallel()
	const want = "stampede:rebuild:3:581e3f2aeb367cdbced47ff90623a3e2"
	if got := sqllock.NameIn("stampede", "stampede:rebuild:3"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A waiting process gets ErrHeld after its wait, and the lock after the holder has released it.
func TestHoldAdmitsOneProcess(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	s, err := store.OpenMySQL(ctx, kit.MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lock := sqllock.Lock{Name: "stampede:test", Wait: time.Millisecond, MaxIdle: 10 * time.Second}
	noop := func(context.Context) error { return nil }
	err = lock.Hold(ctx, s.DB(), func(context.Context) error {
		if err := lock.Hold(ctx, s.DB(), noop); !errors.Is(err, sqllock.ErrHeld) {
			t.Errorf("a second holder: %v, want ErrHeld", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := lock.Hold(ctx, s.DB(), noop); err != nil {
		t.Errorf("after the first holder: %v", err)
	}
}
