package store_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// A server that rejects work because of its state returns its number and text, and the store counts the rejections. A
// server that becomes writable is used at once.
func TestRejectionsOfAServerKeepTheirCause(t *testing.T) {
	t.Parallel()
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	admin := openMySQL(t, server.Database())
	s := migrated(t, openMySQL(t, server.Database()))
	h := newShop(t, s, 100)
	run := func(statement string) {
		t.Helper()
		must(t, errOf(admin.DB().ExecContext(h.ctx, statement)))
	}
	ordinary := openMySQL(t, ordinaryUser(t, admin, s))
	insert := func() error { return errOf(ordinary.Orders().Insert(h.ctx, h.epoch, h.orders(1, h.sales[0], 1))) }
	wantRejected := func(fault store.ServerFault, number string) {
		t.Helper()
		err := insert()
		if !errors.Is(err, shop.ErrTransient) || !strings.Contains(err.Error(), number) {
			t.Errorf("%v: got %v, want a transient fault with %s", fault, err, number)
		}
		if count, recent := ordinary.Rejections(fault, time.Minute); count == 0 || !recent {
			t.Errorf("%v: %d rejections, recent %v, want at least one", fault, count, recent)
		}
	}
	must(t, insert())
	run("SET GLOBAL read_only = 1")
	wantRejected(store.ReadOnly, "Error 1290")
	run("SET GLOBAL read_only = 0")
	must(t, insert())

	ordinary.DB().SetMaxIdleConns(0) // each statement needs a new connection
	run("ALTER USER shop@'%' WITH MAX_USER_CONNECTIONS 1")
	held, err := ordinary.DB().Conn(h.ctx)
	must(t, err)
	wantRejected(store.NoConnections, "Error 1226")
	must(t, held.Close())
	kit.Eventually(t, 10*time.Second, func() (bool, string) { // the server ends the connection a moment later
		err := insert()
		return err == nil, fmt.Sprintf("insert after the other connection was closed: %v", err)
	})
	if _, recent := ordinary.Rejections(store.NoConnections, 0); recent {
		t.Error("a rejection is recent after its period")
	}
}

// A picture that the server's max_allowed_packet rejects is a permanent fault that names the limit, and checkconfig
// finds it before.
func TestTooSmallPacketsAreReported(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	server := kit.StartMariaDB(t, kit.MariaDBOptions{})
	migrated(t, openMySQL(t, server.Database()))
	needs := func(s *store.Store) bool {
		return slices.ContainsFunc(s.Durability().Needs(ctx), func(n store.Need) bool {
			return n.Err != nil && strings.Contains(n.Err.Error(), "max_allowed_packet")
		})
	}
	before := openMySQL(t, server.Database())
	if needs(before) {
		t.Error("checkconfig rejects the default max_allowed_packet")
	}
	must(t, errOf(before.DB().ExecContext(ctx, "SET GLOBAL max_allowed_packet = 1048576")))
	s := openMySQL(t, server.Database())
	if !needs(s) {
		t.Error("checkconfig accepts a max_allowed_packet of 1 MiB")
	}
	picture := make([]byte, 4<<20)
	must(t, errOf(rand.Read(picture)))
	err := s.Images().SaveImage(ctx, &store.StoredImage{
		ID: strings.Repeat("a", 32), Kind: "png", Width: 1000, Height: 1000, Large: picture, Small: picture[:1000],
	})
	if !errors.Is(err, shop.ErrPermanent) || !strings.Contains(err.Error(), "packet") {
		t.Errorf("a picture of 4 MiB: got %v, want a permanent fault that names the packet", err)
	}
}
