package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

// P2: a process that stalls in the middle of a transaction holds its row locks for about ten seconds. Then orders of
// its sale can be written again.
func TestStalledTransactionIsEnded(t *testing.T) {
	t.Parallel()
	h := newShop(t, onMariaDB(t), 100)
	tx := val(h.DB().BeginTx(h.ctx, nil))(t)
	defer func() { _ = tx.Rollback() }()
	must(t, errOf(tx.ExecContext(h.ctx, "SELECT * FROM sales FOR UPDATE")))
	began := time.Now()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		_, err := h.Insert(h.ctx, h.epoch, h.orders(1, h.sales[0], 1))
		return err == nil, fmt.Sprint("the row is still locked: ", err)
	})
	t.Logf("the row was locked for %v", time.Since(began))
}

// P2: every momentary fault of the server is a transient error, never a fault of an order.
func TestMomentaryFaultsAreTransient(t *testing.T) {
	t.Parallel()
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	admin := openMySQL(t, server.Database())
	s := migrated(t, openMySQL(t, server.Database()))
	h := newShop(t, s, 100)
	run := func(statement string) {
		t.Helper()
		if _, err := admin.DB().ExecContext(h.ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	wantTransient := func(when string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(h.ctx, 8*time.Second)
		defer cancel()
		_, err := h.Insert(ctx, h.epoch, h.orders(3, h.sales[0], 1))
		if !errors.Is(err, shop.ErrTransient) || errors.Is(err, shop.ErrPermanent) {
			t.Errorf("%s: got error %v, want ErrTransient", when, err)
		}
	}

	run("SET GLOBAL read_only = 1") // root is exempt, an ordinary user is not
	ordinary := openMySQL(t, ordinaryUser(t, admin, s))
	_, err := ordinary.Orders().Insert(h.ctx, h.epoch, h.orders(3, h.sales[0], 1))
	if !errors.Is(err, shop.ErrTransient) || errors.Is(err, shop.ErrMisconfigured) {
		t.Errorf("read-only server: got error %v, want ErrTransient", err)
	}
	run("SET GLOBAL read_only = 0")

	tx := val(admin.DB().BeginTx(h.ctx, nil))(t)
	must(t, errOf(tx.ExecContext(h.ctx, "SELECT * FROM "+database(t, s)+".sales FOR UPDATE")))
	wantTransient("a row that stays locked")
	must(t, tx.Rollback())

	server.Pause()
	short, cancel := context.WithTimeout(h.ctx, 200*time.Millisecond)
	wantErr(t, "a server that does not reply",
		errOf(h.Insert(short, h.epoch, h.orders(1, h.sales[0], 1))), shop.ErrTransient)
	cancel()
	server.Resume()

	server.Kill()
	wantTransient("a server that was stopped")
	server.Start()
	kit.Eventually(t, time.Minute, func() (bool, string) {
		_, err := h.Insert(h.ctx, h.epoch, h.orders(3, h.sales[0], 1))
		return err == nil, "the store does not recover by itself"
	})
	totals := h.totals(h.sales[0])
	h.wantTaken(h.sales[0], totals.Orders)
}

func database(t *testing.T, s *store.Store) string {
	t.Helper()
	var name string
	must(t, s.DB().QueryRowContext(kit.Context(t), "SELECT DATABASE()").Scan(&name))
	return name
}

// ordinaryUser creates a user without an exemption from read_only and returns its DSN for the database of s.
func ordinaryUser(t *testing.T, admin, s *store.Store) string {
	t.Helper()
	for _, statement := range []string{
		"CREATE USER shop@'%' IDENTIFIED BY 'secret'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + database(t, s) + ".* TO shop@'%'",
	} {
		must(t, errOf(admin.DB().ExecContext(kit.Context(t), statement)))
	}
	var port string
	must(t, admin.DB().QueryRowContext(kit.Context(t), "SELECT @@port").Scan(&port))
	return "shop:secret@tcp(127.0.0.1:" + port + ")/" + database(t, s)
}

// I6: a commit whose reply is lost is a transient error, and a repeat changes nothing.
func TestLostCommitReplyIsTransient(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	migrated(t, openMySQL(t, dsn))
	proxy := kit.NewProxy(t, dsn)
	h := newShop(t, openMySQL(t, proxy.URL), 100)
	rows := h.orders(5, h.sales[0], 1)
	proxy.DropReplies("COMMIT", 1)
	wantErr(t, "error", errOf(h.Insert(h.ctx, h.epoch, rows)), shop.ErrTransient)
	for _, in := range h.insert(rows...) {
		if in.Fresh || in.Order.State != shop.Pending {
			t.Errorf("order %s: got fresh %v and state %s, want an existing pending order",
				in.Order.ID, in.Fresh, in.Order.State)
		}
	}
	h.wantTaken(h.sales[0], 5)
}

// P2: when the server stops responding at any step of a transaction, the caller returns soon after its deadline.
func TestInsertEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	migrated(t, openMySQL(t, dsn))
	proxy := kit.NewProxy(t, dsn)
	h := newShop(t, openMySQL(t, proxy.URL), 1_000_000)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	var g errgroup.Group
	warm := make(chan struct{}, 1000)
	for range 12 { // at many different steps of the transaction
		g.Go(func() error {
			for {
				if _, err := h.Insert(ctx, h.epoch, h.orders(2, h.sales[0], 1)); err != nil {
					return err
				}
				select {
				case warm <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 100 {
		<-warm
	}
	proxy.Stall()
	cancel()
	started := time.Now()
	wantErr(t, "error", g.Wait(), shop.ErrTransient)
	if waited := time.Since(started); waited > time.Minute {
		t.Errorf("a caller waited for %v after its context had ended", waited)
	}
	proxy.Restore()
	// A pending commit may still arrive, so the totals are read only once.
	if got := h.totals(h.sales[0]); got.Taken != got.Orders || got.Orders%2 != 0 {
		t.Errorf("got %d taken units and %d rows, want equal even numbers", got.Taken, got.Orders)
	}
}

func TestOpenErrorsNameTheCause(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"nonsense":                         "MySQL DSN",
		"root@tcp(127.0.0.1:1)/":           "no database named",
		"root@tcp(127.0.0.1:1)/stampede":   "127.0.0.1:1",
		"root:a/b@tcp(127.0.0.1:1)/s?x='1": "127.0.0.1:1",
	} {
		_, err := store.OpenMySQL(kit.Context(t), dsn)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("DSN %s: got error %v, want one that contains %q", dsn, err, want)
		}
	}
	if _, err := store.OpenSQLite(kit.Context(t), filepath.Join(t.TempDir(), "no", "such", "folder.db")); err == nil {
		t.Error("OpenSQLite in a missing folder returned no error")
	}
}

func TestSQLiteFilesArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	s, err := store.OpenSQLite(kit.Context(t), path)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	must(t, errOf(migrations.Up(kit.Context(t), s.DB())))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		must(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("file shop.db%s: got mode %04o, want 0600", suffix, mode)
		}
	}
}

// P1, P2: on a node of a Galera cluster a transaction that conflicts with another node ends as a deadlock victim (1213,
// also at its COMMIT) and is retried. A node without the majority rejects statements with 1047, which is transient.
func TestGaleraErrorsAreTransient(t *testing.T) {
	t.Parallel()
	s, err := store.OpenSQLite(kit.Context(t), filepath.Join(t.TempDir(), "shop.db"))
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	for number, wantTries := range map[uint16]int{1213: 5, 1047: 1} {
		tries := 0
		err := store.InTx(kit.Context(t), s, func() error {
			tries++
			return &mysql.MySQLError{Number: number}
		})
		if !errors.Is(err, shop.ErrTransient) || errors.Is(err, shop.ErrMisconfigured) || tries != wantTries {
			t.Errorf("error number %d: got %v after %d attempts, want ErrTransient after %d",
				number, err, tries, wantTries)
		}
	}
}

// A transaction stopped by its context returns the context's error in addition to the driver's. Without a stop only the
// driver's error is returned.
func TestStoppedTransactionReturnsContextError(t *testing.T) {
	t.Parallel()
	s := onMariaDB(t)
	for _, stops := range []bool{true, false} {
		ctx, stop := context.WithCancel(kit.Context(t))
		err := store.InTx(ctx, s, func() error {
			if stops {
				stop()
			}
			return driver.ErrBadConn // the error of the next statement
		})
		if errors.Is(err, context.Canceled) != stops || !errors.Is(err, driver.ErrBadConn) {
			t.Errorf("context ended %v: got error %v", stops, err)
		}
		if !errors.Is(err, shop.ErrTransient) {
			t.Errorf("context ended %v: got error %v, want ErrTransient", stops, err)
		}
		stop()
	}
}
