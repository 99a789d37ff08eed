package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/account"
	"stampede/app/rehearse"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// later is a sale that opens long after the test, with more units than its rehearsal buys.
func (s *shop) later(units int64) app.Sale {
	s.t.Helper()
	now := time.Now()
	return s.offer(units, 2, now.Add(45*time.Minute), now.Add(90*time.Minute))
}

// opened is a sale that has been open for a while: a rehearsal may run beside it.
func (s *shop) opened(units int64, limit int) app.Sale {
	s.t.Helper()
	now := time.Now()
	return s.offer(units, limit, now.Add(-30*time.Minute), now.Add(time.Hour))
}

// rehearsed runs a short rehearsal to its end and demands a verdict.
func (s *shop) rehearsed(n *node, sale app.Sale, shoppers int, more ...string) (r rehearse.Result) {
	s.t.Helper()
	args := append([]string{
		"rehearse", "--sale", sale.ID.String(), "--shoppers", fmt.Sprint(shoppers), "--for", "7s",
		"--target", "http://" + n.addr, "--json",
	}, more...)
	out, code := s.run(args...)
	at := strings.Index(out, "{")
	if at < 0 {
		s.t.Fatalf("rehearse exits %d:\n%s", code, out)
	}
	if err := json.NewDecoder(strings.NewReader(out[at:])).Decode(&r); err != nil || code > 1 {
		s.t.Fatalf("rehearse exits %d, %v:\n%s", code, err, out)
	}
	if want := map[string]int{rehearse.Go: 0, rehearse.NoGo: 1}[r.Verdict]; code != want {
		s.t.Errorf("rehearse says %s and exits %d", r.Verdict, code)
	}
	return r
}

// beginRehearsal starts one beside the test and waits until its crowd buys.
func (s *shop) beginRehearsal(n *node, sale app.Sale, shoppers int, lasts string) (*exec.Cmd, app.Sale) {
	s.t.Helper()
	cmd := exec.Command(binary, "rehearse", "--sale", sale.ID.String(), "--shoppers", fmt.Sprint(shoppers),
		"--for", lasts, "--target", "http://"+n.addr)
	cmd.Env = slices.Concat(os.Environ(), []string{"STAMPEDE_JWT_SECRET=" + secret}, s.settings)
	said := &logBuffer{}
	cmd.Stdout, cmd.Stderr = said, said
	s.must(cmd.Start())
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // which of the two ended it says nothing
	})
	shadow := sale
	kit.Eventually(s.t, patience, func() (bool, string) {
		shadow.ID = app.ID(s.count("SELECT MAX(sale_id) FROM rehearsals WHERE state = 'running'"))
		return shadow.ID != 0 && s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ?", shadow.ID) > 0, said.String()
	})
	return cmd, shadow
}

// left is all that is in the stores: how many rows each table has, and the keys of Redis that do not end by themselves.
type left struct {
	rows map[string]int64
	keys []string
}

// rehearsalKeeps are the tables that a rehearsal may add to: what was done is journalled, a row of the rehearsal stays
// for a week, so that entries that come late are known, and node numbers are leased for ever.
var rehearsalKeeps = []string{"journal", "journal_head", "rehearsals", "node_leases"}

func (s *shop) left() left {
	s.t.Helper()
	ctx := kit.Context(s.t)
	found := left{rows: make(map[string]int64)}
	tables, err := s.db.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
	s.must(err)
	defer tables.Close()
	var names []string
	for tables.Next() {
		var name string
		s.must(tables.Scan(&name))
		names = append(names, name)
	}
	s.must(tables.Err())
	for _, name := range names {
		if !slices.Contains(rehearsalKeeps, name) {
			found.rows[name] = s.count("SELECT COUNT(*) FROM " + name)
		}
	}
	keys, err := s.redis.Keys(ctx, "*").Result()
	s.must(err)
	for _, key := range keys {
		if ttl, err := s.redis.TTL(ctx, key).Result(); err == nil && ttl == -1 {
			found.keys = append(found.keys, key)
		}
	}
	slices.Sort(found.keys)
	return found
}

// settled waits until what a node makes in Redis when it starts is there.
func (s *shop) settled() {
	s.t.Helper()
	kit.Eventually(s.t, patience, func() (bool, string) {
		keys := s.left().keys
		return len(keys) >= 10, fmt.Sprint(keys)
	})
}

// nothingLeft demands that the stores are as they were.
func (s *shop) nothingLeft(before left) {
	s.t.Helper()
	after := s.left()
	if !maps.Equal(before.rows, after.rows) {
		s.t.Errorf("tables had %v rows, and have %v", before.rows, after.rows)
	}
	if !slices.Equal(before.keys, after.keys) {
		s.t.Errorf("Redis had %q, and has %q", before.keys, after.keys)
	}
	if n := s.count("SELECT COUNT(*) FROM rehearsals WHERE state <> 'gone'"); n != 0 {
		s.t.Errorf("%d rehearsals are not gone", n)
	}
}

// A rehearsal says go with figures for all that it promises, and leaves the stores as they were, with both acts in the
// journal.
func TestRehearsalLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale, sold := s.later(40), s.opened(5, 2)
	n := s.start()
	buyer := (way{addr: n.addr}).visit(t, "127.0.0.1").greeted(t, token(t, kit.NewID()))
	if _, err := buyer.BuyUntilKnown(sold.ID, 1, "before-the-rehearsal"); err != nil {
		t.Fatal(err)
	}
	s.drained(sold)
	before := s.left()
	r := s.rehearsed(n, sale, 60, "--limit-connect", "0s", "--limit-first-stock", "0s", "--limit-answer", "0s",
		"--limit-order", "0s", "--limit-expiry", "5s") // a busy machine exceeds the default limits
	if r.Verdict != rehearse.Go {
		t.Errorf("the verdict is %s: %+v", r.Verdict, r.Checks)
	}
	for name, figures := range map[string]rehearse.Times{
		"connect": r.Connect, "first stock": r.FirstStock, "answer": r.Answer, "order": r.Order, "expiry": r.Expiry,
	} {
		if figures.N == 0 || figures.P99 < figures.P50 || figures.Max < figures.P99 {
			t.Errorf("%s: %+v", name, figures)
		}
	}
	if r.Connect.N != 60 || r.Rehearsal.Partition != sale.Partition || r.Rehearsal.Units != 40 || r.Reserved < 40 ||
		len(r.Nodes) != 1 || r.Nodes[0].Sockets < 60 || r.TicksS < 1 || r.AnsweredS < 1 {
		t.Errorf("the result is %+v", r)
	}
	s.nothingLeft(before)
	if n := s.count("SELECT COUNT(*) FROM journal WHERE kind IN ('rehearsal.begin', 'rehearsal.end')"); n != 2 {
		t.Errorf("the journal has %d rows of it", n)
	}
	s.audit(sold)
}

// While a rehearsal runs, a real sale in the same partition is bought as ever, and ends with its own stock.
func TestRehearsalLeavesRealSalesAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sold := s.opened(150, 1)
	sale := s.later(30)
	if _, err := s.db.ExecContext(kit.Context(t), "UPDATE sales SET part = ? WHERE id = ?", sold.Partition, sale.ID); err != nil {
		t.Fatal(err)
	}
	sale.Partition = sold.Partition
	n := s.start()
	cmd, shadow := s.beginRehearsal(n, sale, 40, "12s")
	var buyers sync.WaitGroup
	for i := range 100 {
		buyers.Go(func() {
			conn := (way{addr: n.addr}).visit(t, "127.0.0.1").greeted(t, token(t, kit.NewID()))
			if _, err := conn.BuyUntilKnown(sold.ID, 1, fmt.Sprintf("real-%d-press", i)); err != nil {
				t.Errorf("buyer %d: %v", i, err)
			}
		})
	}
	buyers.Wait()
	for _, one := range []app.Sale{sold, shadow} {
		s.audit(one) // the equation holds for the copy as well
	}
	_ = cmd.Wait() // its verdict is not the question
	s.drained(sold)
	if stock, held := s.counter(sold, "stock"), s.counter(sold, "held"); stock != 50 || held != 100 {
		t.Errorf("of 150 units %d are free and %d held after 100 buys", stock, held)
	}
	if n := s.count("SELECT COUNT(*) FROM orders WHERE sale_id <> ?", sold.ID); n != 0 {
		t.Errorf("%d orders of the rehearsal are left", n)
	}
	s.audit(sold)
}

// The partition is made anew in the middle of a rehearsal, which comes to its verdict all the same, and cleans up.
func TestRehearsalGoesOnAfterARebuild(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.later(30)
	n := s.start()
	before := s.left()
	cmd, _ := s.beginRehearsal(n, sale, 20, "5s")
	epoch := s.count("SELECT epoch FROM partitions WHERE id = ?", sale.Partition)
	s.must(s.redis.HIncrBy(kit.Context(t), fmt.Sprintf("stampede:{%d}:meta", sale.Partition), "seq", -1).Err())
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		t.Errorf("it ends with %v and no verdict:\n%s", err, cmd.Stdout)
	}
	if now := s.count("SELECT epoch FROM partitions WHERE id = ?", sale.Partition); now <= epoch {
		t.Fatalf("the partition is at epoch %d, and was at %d: it was not made anew", now, epoch)
	}
	s.nothingLeft(before)
}

// A rehearsal whose process is killed is removed by --clean, and by the deployment itself.
func TestRehearsalIsRemovedAfterACrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tidy func(s *shop)
	}{
		{"by hand", func(s *shop) {
			if out, code := s.run("rehearse", "--clean"); code != 0 || !strings.Contains(out, "removed") {
				s.t.Errorf("--clean exits %d:\n%s", code, out)
			}
			if out, code := s.run("rehearse", "--clean"); code != 0 || !strings.Contains(out, "nothing is left") {
				s.t.Errorf("--clean again exits %d:\n%s", code, out)
			}
		}},
		{"by a duty", func(s *shop) {
			kit.Eventually(s.t, patience, func() (bool, string) {
				return s.count("SELECT COUNT(*) FROM rehearsals WHERE state = 'gone'") == 1, "it is not gone"
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			sale := s.later(20)
			n := s.start()
			s.settled()
			before := s.left()
			cmd, _ := s.beginRehearsal(n, sale, 40, "60s")
			s.must(cmd.Process.Kill())
			_ = cmd.Wait()
			c.tidy(s)
			s.nothingLeft(before)
		})
	}
}

// Ctrl-C ends a rehearsal with words, and everything is removed.
func TestRehearsalIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.later(20)
	n := s.start()
	s.settled()
	before := s.left()
	cmd, _ := s.beginRehearsal(n, sale, 30, "60s")
	s.must(cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		t.Errorf("it exits %d:\n%s", code, cmd.Stdout)
	}
	s.nothingLeft(before)
}

// The sale of a rehearsal is offered to nobody else: it is in no list, cannot be looked at or bought by its number, and
// its orders are not among those of the shop.
func TestRehearsalIsSeenByNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true")
	sale := s.later(20)
	n := s.start()
	cmd, shadow := s.beginRehearsal(n, sale, 30, "20s")
	defer cmd.Process.Kill()
	v, ctx := (way{addr: n.addr}).visit(t, "127.0.0.1"), kit.Context(t)
	operator := operatorToken(t)
	for _, path := range []string{
		"/api/v1/slots", "/api/v1/sales?phase=upcoming", "/api/v1/sales?phase=open", "/api/v1/sales?phase=closed",
		"/api/v1/slots/" + s.theSlot().ID.String() + "/sales", "/api/v1/products",
	} {
		a, err := v.ask(ctx, "GET", path, "")
		if err != nil || a.code != 200 || strings.Contains(a.text, shadow.ID.String()) {
			t.Errorf("%s: %v, %d %s", path, err, a.code, a.text)
		}
	}
	for _, path := range []string{
		"/api/v1/operator/orders?limit=50", "/api/v1/operator/orders?state=pending", "/api/v1/operator/orders?state=expired",
		"/api/v1/operator/sales", "/api/v1/operator/users", "/api/v1/operator/export/sales.csv",
	} {
		a, err := v.ask(ctx, "GET", path, operator)
		if err != nil || a.code != 200 || strings.Contains(a.text, shadow.ID.String()) {
			t.Errorf("%s: %v, %d %s", path, err, a.code, a.text)
		}
	}
	if a, err := v.ask(ctx, "GET", "/api/v1/operator/orders?sale="+shadow.ID.String(), operator); err != nil ||
		a.code != 200 || !strings.Contains(a.text, shadow.ID.String()) {
		t.Errorf("asked for by the sale, operators do not see the orders: %v, %d %s", err, a.code, a.text)
	}
	guest, err := v.enter(ctx)
	s.must(err)
	if a, err := v.ask(ctx, "GET", "/api/v1/sales/"+shadow.ID.String(), guest); err != nil || a.code != 404 {
		t.Errorf("the sale itself: %v, %d %s", err, a.code, a.text)
	}
	if a, err := v.ask(ctx, "GET", "/api/v1/operator/rehearsal", operator); err != nil ||
		!strings.Contains(a.text, `"state":"running"`) || !strings.Contains(a.text, shadow.ID.String()) {
		t.Errorf("operators do not see that a rehearsal runs: %v, %d %s", err, a.code, a.text)
	}
	conn := v.greeted(t, guest)
	_, err = conn.Watch(0, shadow.ID)
	wants(t, "watch", err, app.NotFound)
	_, err = conn.Buy(shadow.ID, 1, "not-a-rehearsal")
	wants(t, "buy", err, app.NotFound)
	_, err = conn.AskPass(shadow.ID)
	wants(t, "pass", err, app.NotFound)
}

func wants(t *testing.T, what string, err error, code app.Code) {
	t.Helper()
	if got := wsclient.CodeOf(err); got != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// A token of a rehearsal that is stolen opens one socket to the sale of the rehearsal, while it runs, and nothing else.
func TestRehearsalTokenIsUsefulForNothingElse(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true")
	sale, other := s.later(20), s.opened(10, 1)
	n := s.start()
	cmd, shadow := s.beginRehearsal(n, sale, 1, "25s") // one shopper, who has come: a second one is one too many
	v, ctx := (way{addr: n.addr}).visit(t, "127.0.0.1"), kit.Context(t)
	issuer, err := account.NewIssuer([]byte(secret), nil)
	s.must(err)
	thief := kit.NewID()
	stolen, err := issuer.IssueRehearsal(thief, shadow.ID, time.Hour)
	s.must(err)
	foreign, err := issuer.IssueRehearsal(thief, other.ID, time.Hour)
	s.must(err)

	for name, ticket := range map[string]string{
		"one too many": stolen, "of another sale": foreign, "a guest's": token(t, thief), "nonsense": "x.y.z",
	} {
		conn, err := (&wsclient.Dialer{Ticket: ticket}).Dial(ctx, v.page())
		var refused *wsclient.Refused
		if !errors.As(err, &refused) || refused.StatusCode != 403 {
			t.Errorf("a handshake with a ticket that is %s: %v", name, err)
		}
		if conn != nil {
			conn.Close()
		}
	}

	user := app.ID(s.count("SELECT MAX(user_id) FROM orders WHERE sale_id = ?", shadow.ID))
	own, err := issuer.IssueRehearsal(user, shadow.ID, time.Hour) // the one of the shopper who has come
	s.must(err)
	for _, path := range []string{"/api/v1/orders", "/api/v1/operator/orders", "/api/v1/me"} {
		if a, err := v.ask(ctx, "GET", path, own); err != nil || a.code != 403 {
			t.Errorf("%s with it: %v, %d %s", path, err, a.code, a.text)
		}
	}
	if a, err := v.ask(ctx, "POST", "/api/v1/auth/guest", own); err != nil || a.code != 403 {
		t.Errorf("becoming a guest with it: %v, %d %s", err, a.code, a.text)
	}
	plain, err := (&wsclient.Dialer{}).Dial(ctx, v.page())
	s.must(err)
	t.Cleanup(plain.Close)
	_, err = plain.Hello(own, "")
	wants(t, "hello on a socket of nobody's", err, app.Forbidden)

	conn, err := (&wsclient.Dialer{Ticket: own}).Dial(ctx, v.page())
	s.must(err)
	t.Cleanup(conn.Close)
	_, err = conn.Hello("", "")
	wants(t, "hello of nobody", err, app.Unauthorized)
	_, err = conn.Hello(token(t, thief), "")
	wants(t, "hello of a guest", err, app.Forbidden)
	_, err = conn.Hello(own, "")
	s.must(err)
	_, err = conn.Watch(0)
	wants(t, "watch the current slot", err, app.Forbidden)
	_, err = conn.Watch(0, other.ID)
	wants(t, "watch a real sale", err, app.Forbidden)
	_, err = conn.Buy(other.ID, 1, "stolen-token-1")
	wants(t, "buy in a real sale", err, app.Forbidden)
	_, err = conn.AskPass(other.ID)
	wants(t, "a pass of a real sale", err, app.Forbidden)
	_, err = conn.Pay(1, "qr")
	wants(t, "pay", err, app.Forbidden)
	_, err = conn.Orders(0)
	wants(t, "orders", err, app.Forbidden)
	_, err = conn.WatchBoard()
	wants(t, "board", err, app.Forbidden)
	if n := s.counter(other, "held"); n != 0 {
		t.Errorf("%d units of a real sale are held", n)
	}

	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	select { // its time is over with the rehearsal
	case <-conn.Done():
	case <-time.After(20 * time.Second):
		t.Error("the socket outlives the rehearsal")
	}
	if late, err := (&wsclient.Dialer{Ticket: own}).Dial(ctx, v.page()); err == nil {
		late.Close()
		t.Error("a ticket counts after the rehearsal")
	}
}
