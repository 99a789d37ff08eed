package mail

import (
	"bytes"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"

	"stampede/app/outbox"
)

// allowedHeaders lists all headers of an e-mail.
var allowedHeaders = []string{
	"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject",
	"To",
}

// An e-mail with any user input goes to its one address and has only its own headers.
func FuzzMessage(f *testing.F) {
	f.Add("ada@example.com", "Ada", "en", "https://shop.example/#activate=x", "Lamp")
	f.Add("ada@example.com\r\nBcc: e@example.com", "Ada\r\nBcc: e@e.e", "zh", "x\r\n.\r\n", "灯\nBcc: e@e.e\n\n")
	f.Add("ada@example.com,eve@example.com", "=?utf-8?q?=0ABcc:=20e@e.e?=", "", "\x00", "\u2028\u202e")
	f.Add(`"ada"@example.com`, "", "xx", "", strings.Repeat("很", 3000))
	from := &netmail.Address{Name: "Shop", Address: "noreply@shop.example"}
	f.Fuzz(func(t *testing.T, to, name, lang, link, product string) {
		for _, kind := range []outbox.EmailKind{
			outbox.EmailActivate, outbox.EmailTaken, outbox.EmailReset, outbox.EmailPaid, outbox.EmailRefunded,
			outbox.EmailShipped,
			outbox.EmailKind(lang),
		} {
			l := &outbox.Email{Kind: kind, About: name, To: to, Name: name, Lang: lang}
			switch kind {
			case outbox.EmailActivate, outbox.EmailReset:
				l.Link = link
			case outbox.EmailPaid, outbox.EmailRefunded, outbox.EmailShipped:
				l.Order = &outbox.OrderFacts{ID: 7, ProductName: product, Qty: 1, AmountFen: 4900}
			}
			m, err := message(from, l, 1_795_222_800_000)
			if err != nil {
				continue
			}
			var text bytes.Buffer
			if _, err := m.WriteTo(&text); err != nil {
				t.Fatalf("e-mail %+v: got error %v", l, err)
			}
			parsed, err := netmail.ReadMessage(&text)
			if err != nil {
				t.Fatalf("e-mail %+v: got error %v", l, err)
			}
			for header, values := range parsed.Header {
				if len(values) != 1 || !slices.Contains(allowedHeaders, header) {
					t.Fatalf("%+v has the header %s: %q", l, header, values)
				}
			}
			if got := strings.NewReplacer("<", "", ">", "", `"`, "").Replace(parsed.Header.Get("To")); got != to {
				t.Fatalf("%+v goes to %q, want %q", l, got, to)
			}
		}
	})
}
