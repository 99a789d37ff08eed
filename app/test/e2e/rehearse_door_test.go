package e2e

import (
	"strings"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/rehearse"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// tolerant are the flags of a rehearsal whose times are not the question.
var tolerant = []string{
	"--limit-connect", "0s", "--limit-first-stock", "0s", "--limit-answer", "0s", "--limit-order", "0s", "--limit-expiry", "5s",
}

// With the strictest limits a crowd from one address gets into its rehearsal, straight and through nginx, and the
// address itself may do no more than before. The sale asks for work before a pass.
func TestRehearsalUnderStrictLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_GUEST_LOGIN=true", nginxAddress, "STAMPEDE_LIMITS=strict", "STAMPEDE_MAX_CONNS_PER_IP=40")
	sale := s.later(60)
	s.must(s.store.SetChallenge(kit.Context(t), sale.ID, app.ChallengeWork))
	s.must(s.store.SetWorkBits(kit.Context(t), app.LeastWorkBits)) // one machine does the work of all
	n := launchShipped(t, s.settings...)
	n.waitReady()
	for name, target := range map[string][]string{"straight": nil, "through nginx": throughNginx(t, n)} {
		r := s.rehearsed(n, sale, 120, append(target, tolerant...)...)
		if r.Connect.N != 120 || r.Pass.N == 0 || r.Reserved < 60 || len(r.Lost) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	pressed, rehearsed := n.metric("stampede_buys_total"), n.metric("stampede_rehearsal_buys_total")
	settled, all := n.metric("stampede_rehearsal_entries_settled_total"), n.metric("stampede_entries_settled_total")
	if pressed != 0 || rehearsed < 120 || settled < 120 || settled > all {
		t.Errorf("people pressed Buy %v times, a rehearsal %v; of %v entries settled %v are of a rehearsal", pressed, rehearsed,
			all, settled)
	}
	// The limits of handshakes and connections count for everybody else as they did. Who says no hello is closed soon,
	// and would make room for another one.
	w, ctx := way{addr: n.addr}, kit.Context(t)
	var open []*wsclient.Conn
	for range 60 {
		conn, _, err := w.visit(t, "127.0.9.1").socket(ctx, w.page())
		if err != nil {
			break
		}
		t.Cleanup(conn.Close)
		if _, err := conn.Hello(token(t, kit.NewID()), ""); err != nil {
			break
		}
		open = append(open, conn)
	}
	if len(open) > 40 {
		t.Errorf("an address has %d sockets open, of 40", len(open))
	}
}

func throughNginx(t *testing.T, n *node) []string {
	t.Helper()
	proxy := kit.StartNginx(t, shippedSite, n.addr)
	return []string{"--target", "https://" + proxy.Addr, "--ca", proxy.CA}
}

// A picture cannot be read by a program: the rehearsal says what it has not rehearsed.
func TestRehearsalSaysWhatItCannotRehearse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.later(10)
	s.must(s.store.SetChallenge(kit.Context(t), sale.ID, app.ChallengeCaptcha))
	r := s.rehearsed(startShipped(t, s.settings...), sale, 10, tolerant...)
	if !strings.Contains(strings.Join(r.NotRehearsed, "; "), "picture") || r.Verdict != rehearse.Go || r.Pass.N == 0 {
		t.Errorf("the result is %+v", r)
	}
}

// What keeps a rehearsal from being begun is said, nothing is left of it, and the exit code tells it from a no-go.
func TestRehearsalsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	now := time.Now()
	sale := s.later(10)
	over := s.offer(10, 1, now.Add(-30*time.Minute), now.Add(-time.Minute))
	n := startShipped(t, s.settings...)
	ask := func(id, shoppers, target string, more ...string) (string, int) {
		return s.run(append([]string{
			"rehearse", "--sale", id, "--shoppers", shoppers, "--for", "5s", "--target", target,
		}, more...)...)
	}
	id, here := sale.ID.String(), "http://"+n.addr
	for _, c := range []struct {
		what, id, shoppers, target string
		code                       int
		says                       string
	}{
		{"an unknown sale", "4711", "5", here, 4, "no sale 4711"},
		{"a sale that is over", over.ID.String(), "5", here, 4, "over"},
		{"nobody", id, "0", here, 2, "--shoppers"},
		{"too many", id, "10001", here, 2, "10000"},
		{"no sale", "0", "5", here, 2, "--sale"},
		{"no server", id, "5", "http://127.0.0.1:1", 4, "no server answers"},
		{"no address", id, "5", "ftp://127.0.0.1", 2, "--target"},
	} {
		if out, code := ask(c.id, c.shoppers, c.target); code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: exits %d:\n%s", c.what, code, out)
		}
	}
	strange := *s
	strange.settings = append([]string(nil), s.settings...)
	strange.settings = append(strange.settings, "STAMPEDE_JWT_SECRET=another-key-that-is-not-the-servers-0123")
	out, code := strange.run("rehearse", "--sale", id, "--shoppers", "2", "--for", "5s", "--target", here)
	if code != 4 || !strings.Contains(out, "403") {
		t.Errorf("with another key: exits %d:\n%s", code, out)
	}

	soon := s.offer(10, 1, now.Add(5*time.Minute), now.Add(20*time.Minute))
	if out, code := ask(id, "5", here); code != 4 || !strings.Contains(out, soon.ID.String()+" opens in") {
		t.Errorf("minutes before an opening: exits %d:\n%s", code, out)
	}
	if n := s.count("SELECT COUNT(*) FROM rehearsals WHERE state <> 'gone'"); n != 0 {
		t.Errorf("%d rehearsals are left of what was refused", n)
	}
	if _, err := s.db.ExecContext(kit.Context(t), "DELETE FROM sales WHERE id = ?", soon.ID); err != nil {
		t.Fatal(err)
	}
	s.beginRehearsal(n, sale, 5, "30s")
	if out, code := ask(id, "5", here); code != 4 || !strings.Contains(out, "another rehearsal is running") {
		t.Errorf("a second one: exits %d:\n%s", code, out)
	}
	if out, code := s.run("rehearse", "--clean"); code != 0 { // also of one that somebody runs, who hears of it
		t.Errorf("--clean exits %d:\n%s", code, out)
	}
}
