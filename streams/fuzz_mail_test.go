package streams

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

// An entry of the mail stream is a letter to somebody, or it is reported as none; a dead one is listed whatever is in
// it.
func FuzzEmail(f *testing.F) {
	f.Add("reset", `{"Kind":"reset","About":"h","To":"a@example.com","Lang":"zh","Link":"https://shop/?reset=x"}`, "3")
	f.Add("paid", `{"Kind":"paid","To":"a@example.com","Order":{"ID":"7","ProductName":"<b>","AmountFen":-1}}`, "x")
	f.Add("paid", `{"Kind":"reset","To":"a@example.com"}`, "99999999999999999999")
	f.Add("", `null`, "")
	f.Fuzz(func(t *testing.T, kind, letter, tries string) {
		m := redis.XMessage{ID: "1-0", Values: map[string]any{"kind": kind, "body": letter, "deliveries": tries}}
		l, err := parseMail(m)
		if err != nil && !errors.Is(err, app.ErrPermanent) {
			t.Fatalf("%q: %v", letter, err)
		}
		if err == nil && (l.To == "" || string(l.Kind) != kind) {
			t.Fatalf("%q of the kind %q read as %+v", letter, kind, l)
		}
		if d := parseQuarantinedMail(m); d.ID != m.ID || err == nil && d.To != l.To {
			t.Fatalf("%q is listed as %+v", letter, d)
		}
	})
}
