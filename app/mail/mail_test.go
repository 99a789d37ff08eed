package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

const posted shop.Millis = 1_795_000_000_123

func fromAddress(t testing.TB) *netmail.Address {
	t.Helper()
	from, err := ParseFrom("闪购 <noreply@shop.example>")
	kit.Must(t, err)
	return from
}

func resetEmail() outbox.Email {
	return outbox.Email{
		Kind: outbox.EmailReset, About: "f00d", To: "li.lei@mail.example", Name: "李雷", Lang: "zh",
		Link: "https://shop.example/#reset=" + strings.Repeat("k", 43),
	}
}

func paidEmail() outbox.Email {
	return outbox.Email{
		Kind: outbox.EmailPaid, About: "17", To: "ada@mail.example", Name: "Ada", Lang: "en",
		Order: &outbox.OrderFacts{ID: 17, ProductName: "Teapot", Qty: 2, AmountFen: 9805},
	}
}

// serverFor returns a mail server for a TLS mode that requires a password.
func serverFor(t testing.TB, mode TLS) *kit.MailServer {
	t.Helper()
	return kit.NewMailServer(t, kit.WithCertificate(t), func(s *kit.MailServer) {
		s.Implicit = mode == ImplicitTLS
		s.User, s.Password = "shop", "secret"
	})
}

// senderFor returns a sender for the server.
func senderFor(t testing.TB, s *kit.MailServer, mode TLS) *Sender {
	t.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	kit.Must(t, err)
	n, err := strconv.Atoi(port)
	kit.Must(t, err)
	out := NewSender(Server{Host: host, Port: n, User: s.User, Password: s.Password, TLS: mode}, fromAddress(t))
	out.tls.RootCAs = s.Roots
	t.Cleanup(out.Close)
	return out
}

// parseEmail parses an e-mail like a mail client.
func parseEmail(t testing.TB, text string) (header netmail.Header, subject, body string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("got error %v for\n%s", err, text)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	kit.Must(t, err)
	return m.Header, subject, strings.ReplaceAll(string(raw), "\r\n", "\n")
}

// Each kind, in both languages, states its purpose and has its complete link or order. It is sent in every TLS mode.
func TestEmailsArriveInEveryTLSMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []TLS{StartTLS, ImplicitTLS, NoTLS} {
		server := serverFor(t, mode)
		s := senderFor(t, server, mode)
		for i, l := range []outbox.Email{resetEmail(), paidEmail()} {
			if err := s.Deliver(kit.Context(t), l, posted); err != nil {
				t.Fatalf("TLS mode %d: got error %v", mode, err)
			}
			got := server.Mails()[i]
			header, subject, body := parseEmail(t, got.Text)
			want, words := "Your order 17 is paid", "Hello Ada,\n\nThank you. Your order is paid."
			if l.Kind == outbox.EmailReset {
				want, words = "设置新密码", l.Link
			}
			if subject != want || !strings.Contains(body, words) || !strings.Contains(got.To, "<"+l.To+">") {
				t.Errorf("to %s: got subject %q, want %q, body\n%s", got.To, subject, want, body)
			}
			if date := header.Get("Date"); date != "Wed, 18 Nov 2026 11:06:40 +0000" {
				t.Errorf("got date %q, want the time of the posting", date)
			}
		}
	}
}

// Every login mechanism that sends a password works, with TLS and on this machine: some servers offer only LOGIN.
func TestServerChoosesLoginMechanism(t *testing.T) {
	t.Parallel()
	for _, mode := range []TLS{StartTLS, NoTLS} {
		for _, mechanisms := range []string{"PLAIN", "LOGIN", "LOGIN PLAIN"} {
			server := kit.NewMailServer(t, kit.WithCertificate(t), func(s *kit.MailServer) {
				s.User, s.Password, s.Logins = "shop", "secret", mechanisms
			})
			err := senderFor(t, server, mode).Deliver(kit.Context(t), paidEmail(), posted)
			if n := len(server.Mails()); err != nil || n != 1 {
				t.Errorf("TLS mode %d, server offers %s: got %d e-mails, %v; want one", mode, mechanisms, n, err)
			}
		}
	}
}

// A repeated e-mail has the same bytes, and no other e-mail has its Message-ID.
func TestRepeatedEmailHasSameBytes(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	s := senderFor(t, server, NoTLS)
	other := resetEmail()
	other.About = "f00e"
	for _, l := range []outbox.Email{resetEmail(), resetEmail(), other} {
		kit.Must(t, s.Deliver(kit.Context(t), l, posted))
	}
	mails := server.Mails()
	first, _, _ := parseEmail(t, mails[0].Text)
	third, _, _ := parseEmail(t, mails[2].Text)
	if mails[0].Text != mails[1].Text {
		t.Errorf("got different bytes for a repeated e-mail:\n%s\n%s", mails[0].Text, mails[1].Text)
	}
	id := first.Get("Message-Id")
	if id == third.Get("Message-Id") || !strings.HasPrefix(id, "<reset.") || !strings.HasSuffix(id, "@shop.example>") {
		t.Errorf("got Message-ID %s, and %s for another e-mail; want two ids of shop.example", id, third.Get("Message-Id"))
	}
}

// Every kind of e-mail has texts in both languages. An unknown language gets English. An unknown kind, and an e-mail
// without its link or order, are rejected.
func TestEveryEmailKindHasTexts(t *testing.T) {
	t.Parallel()
	subjects := make(map[string]bool)
	for _, kind := range []outbox.EmailKind{
		outbox.EmailActivate, outbox.EmailTaken, outbox.EmailReset, outbox.EmailPaid, outbox.EmailRefunded,
		outbox.EmailShipped,
	} {
		for _, lang := range []string{"en", "zh", "fr"} {
			l := outbox.Email{Kind: kind, To: "a@b.example", Name: "Mallory", Lang: lang}
			bare := l
			if kind == outbox.EmailActivate || kind == outbox.EmailReset || kind == outbox.EmailTaken {
				l.Link = "https://shop.example/?x=1"
			}
			if isAboutOrder(kind) {
				l.Order = paidEmail().Order
			}
			subject, body, err := compose(&l)
			if err != nil || !strings.Contains(body, l.Link) || strings.Contains(subject+body, "%!") {
				t.Errorf("e-mail %s in %s: got error %v, subject and body\n%s\n%s", kind, lang, err, subject, body)
			}
			if l.Order != nil && (!strings.Contains(body, "Teapot") || !strings.Contains(body, "¥98.05")) {
				t.Errorf("%s in %s does not name the product:\n%s", kind, lang, body)
			}
			// A stranger can cause an e-mail of these kinds to any address: it must not contain the stranger's words.
			if (kind == outbox.EmailActivate || kind == outbox.EmailTaken) && strings.Contains(body, l.Name) {
				t.Errorf("%s in %s contains a name that is not verified:\n%s", kind, lang, body)
			}
			if _, _, err := compose(&bare); kind != outbox.EmailTaken && !errors.Is(err, outbox.ErrRejected) {
				t.Errorf("%s without its link or order: got %v, want ErrRejected", kind, err)
			}
			subjects[subject] = true
		}
	}
	if len(subjects) != 12 {
		t.Errorf("got %d different subjects, want 12, one for each kind and language: %v", len(subjects), subjects)
	}
	if _, _, err := compose(&outbox.Email{Kind: "advert"}); !errors.Is(err, outbox.ErrRejected) {
		t.Errorf("an unknown kind: got %v, want ErrRejected", err)
	}
}

// User input becomes neither a header nor a separate line, and one address never becomes two addresses.
func TestUserInputCannotInjectHeaders(t *testing.T) {
	t.Parallel()
	server := kit.NewMailServer(t)
	s := senderFor(t, server, NoTLS)
	for _, input := range []string{
		"x\r\nBcc: victim@mail.example", "x\nSubject: other", "x\r\n.\r\nMAIL FROM:<a@b>", "x\u2028Bcc: v@m.example",
		"\u202Egnp.exe", "x\x00\x1b[31m", "=?utf-8?q?=0D=0ABcc:_v@m.example?=", strings.Repeat("长", 5000),
	} {
		l := paidEmail()
		l.Name, l.Order.ProductName, l.About = input, input, input
		if err := s.Deliver(kit.Context(t), l, posted); err != nil {
			t.Fatalf("input %q: got error %v", input, err)
		}
		mails := server.Mails()
		got := mails[len(mails)-1]
		header, _, body := parseEmail(t, got.Text)
		if len(header) != 9 || header.Get("Bcc") != "" || len(header["Subject"]) != 1 {
			t.Errorf("input %.40q: got the headers %v", input, header)
		}
		for line := range strings.SplitSeq(body, "\n") {
			if strings.HasPrefix(line, "Bcc") || strings.HasPrefix(line, "Subject") || len([]rune(line)) > 130 {
				t.Errorf("input %.40q: got the line %.80q", input, line)
			}
		}
		if strings.ContainsAny(body, "\x00\x1b\u202E\u2028") {
			t.Errorf("input %.40q: got control characters in\n%q", input, body)
		}
	}
	mailsBefore := len(server.Mails())
	for _, to := range []string{
		"", "ada", "@b", "a@", "a@b@c", "a@b.example, v@m.example", "a@b.example>\r\nRCPT TO:<v@m.example", "a b@c.example",
		"<a@b.example>", "a@b.example\r\nBcc: v@m.example", "ädä@b.example", strings.Repeat("a", 250) + "@b.example",
	} {
		l := resetEmail()
		l.To = to
		if err := s.Deliver(kit.Context(t), l, posted); !errors.Is(err, outbox.ErrRejected) {
			t.Errorf("recipient %q: got %v, want ErrRejected", to, err)
		}
	}
	if n := len(server.Mails()); n != mailsBefore {
		t.Errorf("got %d e-mails to invalid addresses, want 0", n-mailsBefore)
	}
	for _, from := range []string{"", "shop", "Shop <a@b>\r\nBcc: v@m.example", "a@b.example, c@d.example", "Shop <ä@b.example>"} {
		if _, err := ParseFrom(from); err == nil {
			t.Errorf("ParseFrom accepted the sender %q", from)
		}
	}
}

// The server's reply and the failed step determine the outcome: retry this e-mail, reject this e-mail, or pause all
// e-mails. No error contains an address or the password.
func TestServerReplyDecidesOutcome(t *testing.T) {
	t.Parallel()
	const sent, retry, rejected, pause = "sent", "again", "never", "pause"
	for _, c := range []struct{ step, reply, want string }{
		{kit.SMTPGreeting, "", sent},
		{kit.SMTPGreeting, "554 5.3.2 not today", pause},
		{kit.SMTPGreeting, kit.SMTPHangUp, pause},
		{kit.SMTPGreeting, kit.SMTPSilent, pause},
		{"EHLO", "421 shutting down", pause},
		{"AUTH", "454 4.7.0 for the moment", pause},
		{kit.SMTPMailFrom, "550 5.7.1 you may not send as that", pause},
		{kit.SMTPMailFrom, "451 4.3.0 later", pause},
		{kit.SMTPMailFrom, kit.SMTPHangUp, retry},
		{kit.SMTPRcptTo, "550 5.1.1 no li.lei@mail.example here", rejected},
		{kit.SMTPRcptTo, "450 4.2.0 <li.lei@mail.example> greylisted", retry},
		{kit.SMTPRcptTo, "421 too busy", pause},
		{kit.SMTPData, "554 5.7.1 no", rejected},
		{kit.SMTPData, kit.SMTPSilent, retry},
		{kit.SMTPBody, "552 5.3.4 too big", rejected},
		{kit.SMTPBody, "451 4.3.0 disk full", retry},
		{kit.SMTPBody, kit.SMTPHangUp, retry},
		{kit.SMTPBody, kit.SMTPSilent, retry},
		{"RSET", kit.SMTPHangUp, sent},
		{kit.SMTPQuit, kit.SMTPSilent, sent},
	} {
		t.Run(c.step+" "+c.reply, func(t *testing.T) {
			t.Parallel()
			server := kit.NewMailServer(t, func(s *kit.MailServer) { s.User, s.Password = "shop", "secret" })
			server.SetReply(func(step, _ string) string {
				if step == c.step {
					return c.reply
				}
				return ""
			})
			s := senderFor(t, server, NoTLS)
			if c.reply == kit.SMTPSilent {
				s.timeout = 3 * time.Second // a busy server may be late with its other replies
			}
			err := s.Deliver(kit.Context(t), resetEmail(), posted)
			var pauseErr *outbox.PauseError
			got := retry
			switch {
			case err == nil:
				got = sent
			case errors.As(err, &pauseErr):
				got = pause
			case errors.Is(err, outbox.ErrRejected):
				got = rejected
			}
			if got != c.want {
				t.Errorf("got outcome %s, want %s: %v", got, c.want, err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "li.lei") || strings.Contains(text, "secret") {
				t.Errorf("the error contains the address or the password: %s", text)
			}
		})
	}
}

// An unreachable server, a wrong certificate, missing TLS and a wrong password are problems of the server: no e-mail is
// rejected, and no password or e-mail is sent unencrypted.
func TestUnusableServerPausesDelivery(t *testing.T) {
	t.Parallel()
	closed := kit.FreeAddress(t)
	plain := kit.NewMailServer(t, func(s *kit.MailServer) { s.User, s.Password = "shop", "secret" })
	untrusted := kit.NewMailServer(t, kit.WithCertificate(t), func(s *kit.MailServer) { s.Roots = nil })
	otherPassword := kit.NewMailServer(t, kit.WithCertificate(t),
		func(s *kit.MailServer) { s.User, s.Password = "shop", "other" })
	wrongPassword := senderFor(t, otherPassword, StartTLS)
	wrongPassword.server.Password = "secret"
	for name, s := range map[string]*Sender{
		"no server":           senderFor(t, &kit.MailServer{Addr: closed}, NoTLS),
		"no STARTTLS":         senderFor(t, plain, StartTLS),
		"unknown certificate": senderFor(t, untrusted, StartTLS),
		"wrong password":      wrongPassword,
	} {
		err := s.Deliver(kit.Context(t), resetEmail(), posted)
		var pauseErr *outbox.PauseError
		if !errors.As(err, &pauseErr) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want a PauseError without the password", name, err)
		}
	}
	if n := len(plain.Mails()) + len(untrusted.Mails()) + len(otherPassword.Mails()); n != 0 {
		t.Errorf("got %d e-mails at unusable servers, want 0", n)
	}
}

func TestParseServerRejectsInvalidAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]Server{
		"smtp://u:p@mail.example":               {Host: "mail.example", Port: 587, User: "u", Password: "p"},
		"smtps://u%40x:p%2F@mail.example:4465/": {Host: "mail.example", Port: 4465, User: "u@x", Password: "p/", TLS: ImplicitTLS},
		"smtp://relay:25?tls=none":              {Host: "relay", Port: 25, TLS: NoTLS},
		"smtp://u:p@127.0.0.1:25?tls=none":      {Host: "127.0.0.1", Port: 25, User: "u", Password: "p", TLS: NoTLS},
	} {
		if got, err := ParseServer(address); err != nil || got != want {
			t.Errorf("%s: got %+v, error %v; want %+v", address, got, err, want)
		}
	}
	for _, address := range []string{
		"", "mail.example:587", "http://mail.example", "smtp://", "smtp://mail.example:0", "smtp://mail.example:99999",
		"smtp://u@mail.example", "smtp://u:hidden@relay:25?tls=none", "smtps://relay?tls=none", "smtp://relay?tls=maybe",
		"smtp://relay/path", "smtp://u:hid den@%zz", "smtp://relay?tls=none&verify=no", "smtp://u:5#hid@mail.example",
	} {
		if got, err := ParseServer(address); err == nil || strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: got %+v, %v; want an error without the password", address, got, err)
		}
	}
}

// Without a mail server, each e-mail is one file that only this user can read, and a repeat is the same file.
func TestFolderWritesOnePrivateFilePerEmail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mail")
	var received []string
	f := &Folder{Path: path, From: fromAddress(t), Written: func(l outbox.Email, file string) {
		received = append(received, l.Link+" "+file)
	}}
	for _, l := range []outbox.Email{resetEmail(), resetEmail(), paidEmail()} {
		kit.Must(t, f.Deliver(context.Background(), l, posted))
	}
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 2 || len(received) != 3 || received[0] != received[1] {
		t.Fatalf("got files %v, error %v, received e-mails %q", files, err, received)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil || info.Mode().Perm() != 0o600 || !strings.HasSuffix(file.Name(), ".eml") {
			t.Errorf("got file %s with mode %v, error %v; want an .eml file with mode 0600", file.Name(), info.Mode(), err)
		}
		text, err := os.ReadFile(filepath.Join(path, file.Name()))
		kit.Must(t, err)
		if _, _, body := parseEmail(t, string(text)); !strings.Contains(body, "\n-- \nStampede\n") {
			t.Errorf("got an e-mail without the signature of the shop:\n%s", text)
		}
	}
	// A folder that cannot be created does not reject the e-mail.
	file := filepath.Join(path, "x")
	kit.Must(t, os.WriteFile(file, nil, 0o600))
	var pauseErr *outbox.PauseError
	err = (&Folder{Path: file, From: fromAddress(t)}).Deliver(context.Background(), paidEmail(), posted)
	if !errors.As(err, &pauseErr) {
		t.Errorf("without a folder: got %v, want a PauseError", err)
	}
}
