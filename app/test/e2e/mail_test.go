package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/test/kit"
	"stampede/streams"
)

// pendingLetters are those that were begun and are not sent.
var pendingLetters = &redis.XPendingExtArgs{
	Stream: "stampede:{mail}:letters", Group: "mailers", Start: "-", End: "+", Count: 10,
}

// mailTo are the settings of a shop that sends its mails to a server.
func mailTo(server *kit.MailServer) []string {
	return []string{
		"STAMPEDE_SMTP_URL=smtp://" + server.Addr + "?tls=none", "STAMPEDE_MAIL_FROM=Shop <noreply@shop.example>",
		"STAMPEDE_PUBLIC_URL=https://shop.example",
	}
}

// buyerWithMail has an account.
func (s *shop) buyerWithMail(email string) app.User {
	s.t.Helper()
	u := app.User{
		ID: kit.NewID(), Email: email, Name: "Ada", Role: app.Shopper, Lang: "en", State: app.UserActive,
		CreatedAt: app.MillisOf(time.Now()), ActivatedAt: app.MillisOf(time.Now()),
	}
	s.must(s.store.AddUser(kit.Context(s.t), u))
	return u
}

// paidBy is what the back office hears of an order that was just paid.
func paidBy(user app.ID) app.OutboxMessage {
	return app.OutboxMessage{
		Order: kit.NewID(), Rev: 2, State: app.Paid, At: app.MillisOf(time.Now()), Sale: kit.NewID(), User: user,
		ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900,
	}
}

// Buyers who have an e-mail hear once of each order that is paid or refunded, guests and deleted people of none, and a
// back office that has everything sent again has nobody written to again. What is sent leaves nothing in Redis.
func TestBuyersAreWrittenTo(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	s := newShop(t, mailTo(server)...)
	ada := s.buyerWithMail("ada@mail.example")
	paid, guests := paidBy(ada.ID), paidBy(kit.NewID())
	refunded := paid
	refunded.State, refunded.Rev = app.Refunded, 4
	old := paidBy(ada.ID)
	old.At = old.At.Add(-8 * 24 * time.Hour)
	office := streams.NewPaidStream(s.redis)
	all := []app.OutboxMessage{guests, old, paid, refunded, paid}
	s.must(office.Append(kit.Context(t), all))
	n := s.start("STAMPEDE_ROLES=worker")
	metric := func(line string) func() (bool, string) {
		return func() (bool, string) {
			_, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
			return strings.Contains(string(text), "\n"+line+"\n"), "no metric " + line
		}
	}
	kit.Eventually(t, 30*time.Second, metric(`stampede_mails_total{result="sent"} 2`))
	s.must(office.Append(kit.Context(t), all))
	settled := func() (bool, string) {
		groups, err := s.redis.XInfoGroups(kit.Context(t), "stampede:{backoffice}:paid").Result()
		s.must(err)
		for _, g := range groups {
			if g.Name == "mail" {
				return g.Lag == 0 && g.Pending == 0, fmt.Sprintf("%+v", g)
			}
		}
		return false, "no group mail"
	}
	kit.Eventually(t, 30*time.Second, settled)
	kit.Eventually(t, 30*time.Second, metric(`stampede_mails{state="waiting"} 0`))
	mails := server.Mails()
	if len(mails) != 2 {
		t.Fatalf("%d mails: %+v", len(mails), mails)
	}
	for _, m := range mails {
		if !strings.Contains(m.To, "ada@mail.example") || !strings.Contains(m.Text, "Lamp") ||
			!strings.Contains(m.Text, paid.Order.String()) {
			t.Errorf("%+v", m)
		}
	}
	if left, err := s.redis.XRange(kit.Context(t), "stampede:{mail}:letters", "-", "+").Result(); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if out := n.log.String(); strings.Contains(out, "mail.example") {
		t.Errorf("an e-mail is in the log:\n%s", out)
	}
}

// A worker that dies after the mail server has taken a letter, and before it could say so, leaves a repeat at most: the
// same bytes, so the same Message-ID.
func TestAWorkerDiesBetweenSendingAndAcknowledging(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	s := newShop(t, mailTo(server)...)
	ada := s.buyerWithMail("ada@mail.example")
	first := s.start("STAMPEDE_ROLES=worker")
	var died atomic.Bool
	server.Answer(func(step, _ string) string {
		if step == kit.SMTPBody && died.CompareAndSwap(false, true) {
			first.kill()
			return kit.SMTPHangUp // it has the letter
		}
		return ""
	})
	s.must(streams.NewPaidStream(s.redis).Append(kit.Context(t), []app.OutboxMessage{paidBy(ada.ID)}))
	kit.Eventually(t, 30*time.Second, func() (bool, string) { return len(server.Mails()) == 1, "nothing is sent" })
	s.start("STAMPEDE_ROLES=worker")
	// The letter is tried again half a minute after the first try: let that have passed.
	pending, err := s.redis.XPendingExt(kit.Context(t), pendingLetters).Result()
	if err != nil || len(pending) != 1 {
		t.Fatalf("%v pending, %v", pending, err)
	}
	s.must(s.redis.Do(kit.Context(t), "XCLAIM", pendingLetters.Stream, pendingLetters.Group, pending[0].Consumer, 0,
		pending[0].ID, "IDLE", 40_000, "RETRYCOUNT", 1, "JUSTID").Err())
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		left, err := s.redis.XLen(kit.Context(t), pendingLetters.Stream).Result()
		s.must(err)
		return left == 0, "the letter is still there"
	})
	mails := server.Mails()
	if len(mails) != 2 || mails[0].Text != mails[1].Text || !strings.Contains(mails[0].Text, "Message-ID: <paid.") {
		t.Errorf("%d mails: %+v", len(mails), mails)
	}
}

// An operator sees which mails could not be sent and why, has them sent again once the cause is mended, or drops them.
func TestOperatorLooksAfterDeadMails(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	server.Answer(func(step, _ string) string {
		if step == kit.SMTPRcptTo {
			return "550 5.1.1 <ada@mail.example> is unknown here"
		}
		return ""
	})
	s := newShop(t, mailTo(server)...)
	ada := s.buyerWithMail("ada@mail.example")
	n := s.start("STAMPEDE_ROLES=worker")
	s.must(streams.NewPaidStream(s.redis).Append(kit.Context(t), []app.OutboxMessage{
		paidBy(ada.ID), paidBy(ada.ID), paidBy(ada.ID),
	}))
	dead := func() (list []app.DeadMail) {
		t.Helper()
		out, code := s.run("mail", "list", "--json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v:\n%s", code, err, out)
		}
		return list
	}
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		_, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
		return strings.Contains(string(text), "\n"+`stampede_mails{state="dead"} 3`+"\n"), "they are not dead"
	})
	list := dead()
	if len(list) != 3 || list[0].To != ada.Email || list[0].Tries != 1 || !strings.Contains(list[0].Reason, "550") ||
		strings.Contains(list[0].Reason, "ada@") {
		t.Fatalf("%+v", list)
	}
	server.Answer(nil)
	for _, c := range []struct {
		code int
		args []string
	}{
		{2, []string{"retry"}},
		{2, []string{"retry", "--all", list[0].ID}},
		{1, []string{"retry", "1-1"}},
		{1, []string{"drop", "1-1"}},
		{0, []string{"drop", list[0].ID}},
		{0, []string{"retry", list[1].ID}},
		{0, []string{"retry", "--all"}},
	} {
		if out, code := s.run(append([]string{"mail"}, c.args...)...); code != c.code {
			t.Errorf("%v: exit code %d, want %d:\n%s", c.args, code, c.code, out)
		}
	}
	kit.Eventually(t, 30*time.Second, func() (bool, string) { return len(server.Mails()) == 2, "they are not sent again" })
	if left := dead(); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}

// Without a mail server each mail is a file in the data folder that nobody else can read.
func TestMailsWithoutAServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := newShop(t, "STAMPEDE_DATA="+data)
	ada := s.buyerWithMail("ada@mail.example")
	s.start("STAMPEDE_ROLES=worker")
	s.must(streams.NewPaidStream(s.redis).Append(kit.Context(t), []app.OutboxMessage{paidBy(ada.ID)}))
	var files []string
	kit.Eventually(t, 30*time.Second, func() (bool, string) {
		files, _ = filepath.Glob(filepath.Join(data, "mail", "*.eml"))
		return len(files) == 1, "no mail is written"
	})
	info, err := os.Stat(files[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
