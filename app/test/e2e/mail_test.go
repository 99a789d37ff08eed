package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// mailTo returns the settings of a shop that sends its e-mails to the server.
func mailTo(server *kit.MailServer) []string {
	return []string{
		"STAMPEDE_SMTP_URL=smtp://" + server.Addr + "?tls=none", "STAMPEDE_MAIL_FROM=Shop <noreply@shop.example>",
		"STAMPEDE_PUBLIC_URL=https://shop.example",
	}
}

// buyerWithMail adds an account with the e-mail address.
func (s *testShop) buyerWithMail(email string) shop.User {
	s.t.Helper()
	u := shop.User{
		ID: kit.NewID(), Email: email, Name: "Ada", Role: shop.Shopper, Lang: "en", State: shop.UserActive,
		CreatedAt: shop.MillisOf(time.Now()), ActivatedAt: shop.MillisOf(time.Now()),
	}
	s.must(s.store.Accounts().AddUser(kit.Context(s.t), u))
	return u
}

// paidBy returns the message to the back office about an order that was just paid.
func paidBy(user shop.ID) outbox.Message {
	return outbox.Message{
		Order: kit.NewID(), Rev: 2, State: shop.Paid, At: shop.MillisOf(time.Now()), Sale: kit.NewID(), User: user,
		ProductName: "Lamp", Qty: 1, PriceFen: 4900, AmountFen: 4900,
	}
}

// An operator reads which e-mails could not be sent and why, and sends them again after the cause is fixed, or drops
// them.
func TestOperatorRetriesAndDropsDeadMails(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	server.SetReply(func(step, _ string) string {
		if step == kit.SMTPRcptTo {
			return "550 5.1.1 <ada@mail.example> is unknown here"
		}
		return ""
	})
	s := newShop(t, mailTo(server)...)
	ada := s.buyerWithMail("ada@mail.example")
	n := s.start("STAMPEDE_ROLES=api,worker")
	s.appendPostings(paidBy(ada.ID), paidBy(ada.ID), paidBy(ada.ID))
	dead := func() (list []outbox.QuarantinedEmail) {
		t.Helper()
		out, code := n.run("mail", "list", "--json")
		if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
			t.Fatalf("exit code %d, %v:\n%s", code, err, out)
		}
		return list
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		_, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
		return strings.Contains(string(text), "\n"+`stampede_mails{state="quarantined"} 3`+"\n"), "the mails are not dead"
	})
	list := dead()
	if len(list) != 3 || list[0].To != ada.Email || list[0].Tries != 1 || !strings.Contains(list[0].Reason, "550") ||
		strings.Contains(list[0].Reason, "ada@") {
		t.Fatalf("got dead e-mails %+v, want 3 with the reason 550, without an address in the reason", list)
	}
	server.SetReply(nil)
	n.drainQuarantine("retry", []string{list[0].ID, list[1].ID}, "mail")
	kit.Eventually(t, waitTimeout, func() (bool, string) { return len(server.Mails()) == 2, "the mails are not sent again" })
	for _, m := range server.Mails() {
		if !strings.Contains(m.To, ada.Email) || !strings.Contains(m.Text, "Lamp") {
			t.Errorf("got the e-mail %+v, want one to %s about the lamp", m, ada.Email)
		}
	}
	if out := n.Text(); strings.Contains(out, "mail.example") {
		t.Errorf("an e-mail address is in the log:\n%s", out)
	}
	if left := dead(); len(left) != 0 {
		t.Errorf("got remaining dead e-mails %+v, want none", left)
	}
}
