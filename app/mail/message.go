package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// ParseFrom parses the sender of e-mails, like "Shop <noreply@shop.example>".
func ParseFrom(s string) (*netmail.Address, error) {
	from, err := netmail.ParseAddress(s)
	if err != nil || !plainAddress(from.Address) || from.Name != clean(from.Name, len(from.Name)) {
		return nil, fmt.Errorf("%q is not a sender: want a form like Shop <noreply@shop.example>", s)
	}
	return from, nil
}

// plainAddress reports whether the address is valid unchanged in an SMTP command: printable ASCII without special
// characters, one @ with text on both sides, at most 254 bytes.
func plainAddress(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' || strings.IndexByte(`<>()[],;:\"`, s[i]) >= 0 {
			return false
		}
	}
	local, domain, hasAt := strings.Cut(s, "@")
	return hasAt && local != "" && domain != "" && !strings.Contains(domain, "@") && len(s) <= 254
}

// message returns the MIME message for an e-mail posted at the given time.
func message(from *netmail.Address, l *outbox.Email, posted shop.Millis) (*gomail.Msg, error) {
	if !plainAddress(l.To) {
		return nil, fmt.Errorf("%w: its address is not valid", outbox.ErrRejected)
	}
	subject, body, err := compose(l)
	if err != nil {
		return nil, err
	}
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithCharset(gomail.CharsetUTF8))
	m.FromMailAddress(from)
	m.ToMailAddress(&netmail.Address{Address: l.To})
	m.Subject(subject)
	m.SetDateWithValue(posted.Time())
	m.SetMessageIDWithValue(messageID(l, from))
	m.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: receivers send no automatic replies
	m.SetBodyString(gomail.TypeTextPlain, body)
	return m, nil
}

// messageID returns an id for the e-mail in the sender's domain.
func messageID(l *outbox.Email, from *netmail.Address) string {
	return emailName(l) + from.Address[strings.LastIndexByte(from.Address, '@'):]
}

// emailName returns a name that is always the same for this e-mail and is safe in headers and file names.
func emailName(l *outbox.Email) string {
	sum := sha256.Sum256([]byte(string(l.Kind) + "\n" + l.About + "\n" + l.To))
	return clean(string(l.Kind), 10) + "." + hex.EncodeToString(sum[:16])
}
