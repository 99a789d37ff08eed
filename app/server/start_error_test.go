package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// TestStartEndsOnAPermanentStoreError: a permanent error of a store ends the start with a message. An unreachable store
// does not (TestServerWaitsForUnreachableStores).
func TestStartEndsOnAPermanentStoreError(t *testing.T) {
	t.Parallel()
	redisURL, dsn := kit.Redis(t), kit.MySQL(t)
	for name, c := range map[string]struct{ redis, dsn, want string }{
		"wrong account of MySQL": {redisURL, strings.Replace(kit.Account(t, dsn, "SELECT"), ":secret@", ":wrong@", 1), "STAMPEDE_MYSQL_DSN"},
		"no such database":       {redisURL, dsn + "_gone", "STAMPEDE_MYSQL_DSN"},
		"wrong account of Redis": {strings.Replace(redisURL, "redis://", "redis://nobody:wrong@", 1), dsn, "STAMPEDE_REDIS_URL"},
	} {
		s, err := New(embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL="+c.redis, "STAMPEDE_MYSQL_DSN="+c.dsn,
			"STAMPEDE_JWT_SECRET="+goodSecret), Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(kit.Context(t), time.Minute)
		err = s.Run(ctx)
		if ctx.Err() != nil || !errors.Is(err, errNoRetry) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: got error %v, want an error that names %s", name, err, c.want)
		}
		cancel()
	}
}

// TestServeEndsAfterAnEarlyShutdown: a start that fails at once may close the listeners before Serve begins. Serve
// must still return.
func TestServeEndsAfterAnEarlyShutdown(t *testing.T) {
	t.Parallel()
	s, err := New(embeddedConfig(t, t.TempDir()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var serve func() error
	open := s.openPublic(func(run func() error) { serve = run })
	if err := errors.Join(open, s.closeListeners()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- serve() }()
	go func() { ended <- s.private.serve() }()
	for range 2 {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Serve has not returned for a closed listener")
		}
	}
}

// TestWaitEndsOnAPermanentFault: waiting ends when a later attempt returns shop.ErrMisconfigured, for example because
// an incompatible MySQL is detected only after the connection.
func TestWaitEndsOnAPermanentFault(t *testing.T) {
	t.Parallel()
	tries := 0
	err := waitFor(kit.Context(t), "the partitions", time.Second, func(string, error) {}, func(context.Context) error {
		if tries++; tries < 3 {
			return shop.ErrTransient
		}
		return errors.Join(shop.ErrTransient, fmt.Errorf("partition 1: %w", shop.ErrMisconfigured))
	})
	if !errors.Is(err, errNoRetry) || tries != 3 {
		t.Errorf("got %v after %d attempts, want errNoRetry after 3", err, tries)
	}
}

// TestCheckStoresReportsMissingFeatures: Tools.CheckStores, which checkconfig uses, reports the problems that would
// stop serve.
func TestCheckStoresReportsMissingFeatures(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	dsn := kit.MySQL(t)
	server := kit.StartRedis(t, kit.RedisOptions{Durable: true})
	options, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	root := redis.NewClient(options)
	defer root.Close()
	if err := root.Do(ctx, "ACL", "SETUSER", "shop", "on", ">secret", "~*", "&*", "+@all", "-xautoclaim").Err(); err != nil {
		t.Fatal(err)
	}
	missing := func(redisURL, dsn string) string {
		t.Helper()
		tools, err := OpenTools(ctx,
			embeddedConfig(t, t.TempDir(), "STAMPEDE_REDIS_URL="+redisURL, "STAMPEDE_MYSQL_DSN="+dsn,
				"STAMPEDE_JWT_SECRET="+goodSecret))
		if err != nil {
			t.Fatal(err)
		}
		defer tools.Close()
		found, _, err := tools.CheckStores(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(found)
	}
	node := kit.Account(t, dsn, "SELECT, INSERT, UPDATE, DELETE")
	if found := missing(server.URL, dsn); found != "[]" {
		t.Errorf("account with all rights: got missing operations %s, want none", found)
	}
	limited := strings.Replace(server.URL, "redis://", "redis://shop:secret@", 1)
	if found := missing(limited, node); !strings.Contains(found, "XAUTOCLAIM") ||
		!strings.Contains(found, "make tables (CREATE)") {
		t.Errorf("limited accounts before the migrations: got missing operations %s, want XAUTOCLAIM and CREATE", found)
	}
}
