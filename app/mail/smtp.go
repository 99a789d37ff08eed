package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"stampede/app"
)

// within bounds one delivery from the dial to the last answer, however slowly the server speaks; the stream tries a
// letter again after 30 s at the earliest.
const within = 20 * time.Second

// Sender hands letters to a mail server, each over a connection of its own: what happens to one of them says nothing of
// another.
type Sender struct {
	server Server
	from   *netmail.Address
	within time.Duration
	tls    *tls.Config
}

// NewSender makes a sender. It contacts nobody yet.
func NewSender(s Server, from *netmail.Address) *Sender {
	return &Sender{
		server: s, from: from, within: within,
		tls: &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12},
	}
}

// Deliver sends a letter that was posted at an instant. See the package for what its errors mean.
func (s *Sender) Deliver(ctx context.Context, l app.Letter, posted app.Millis) error {
	m, err := message(s.from, &l, posted)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return &app.PauseError{Err: fmt.Errorf("reach the mail server %s: %w", &s.server, err)}
	}
	defer conn.Close()
	// The library sets deadlines anew with each step; closing the connection ends every wait.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	client, session, err := s.login(ctx, conn)
	if err != nil {
		return &app.PauseError{Err: fmt.Errorf("be let in by the mail server %s: %s", &s.server, withoutAddresses(err))}
	}
	err = client.SendWithSMTPClient(session, m)
	_ = session.Quit() // whatever it answers, what was sent is sent
	return outcome(m, err)
}

func (s *Sender) dial(ctx context.Context) (net.Conn, error) {
	if s.server.TLS == ImplicitTLS {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.server.String())
	}
	return new(net.Dialer).DialContext(ctx, "tcp", s.server.String())
}

// login brings the connection to where a letter can be sent.
func (s *Sender) login(ctx context.Context, conn net.Conn) (*gomail.Client, *smtp.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.server.Port), gomail.WithTimeout(s.within), gomail.WithTLSConfig(s.tls), gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	switch s.server.TLS {
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS: // dial has done it; the library looks and finds the connection secret
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	case NoTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	if s.server.User != "" {
		auth := gomail.SMTPAuthAutoDiscover
		if s.server.TLS == NoTLS { // on this machine, see ParseServer
			auth = gomail.SMTPAuthPlainNoEnc
		}
		options = append(options, gomail.WithSMTPAuth(auth), gomail.WithUsername(s.server.User),
			gomail.WithPassword(s.server.Password))
	}
	client, err := gomail.NewClient(s.server.Host, options...)
	if err != nil {
		return nil, nil, err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	return client, session, err
}

// outcome says what became of a letter that was begun. Once the server has taken it, what fails after that is no
// matter.
func outcome(m *gomail.Msg, err error) error {
	if err == nil || m.IsDelivered() {
		return nil
	}
	var sending *gomail.SendError
	if !errors.As(err, &sending) {
		return fmt.Errorf("send: %s", withoutAddresses(err))
	}
	said := fmt.Errorf("the mail server answered %d: %s", sending.ErrorCode(), withoutAddresses(err))
	if sending.ErrorCode() == 0 { // the connection broke: nobody knows whether the server has it
		said = fmt.Errorf("the mail server went away: %s", withoutAddresses(err))
	}
	switch code := sending.ErrorCode(); {
	case code == 421, sending.Reason == gomail.ErrSMTPMailFrom && code >= 400: // about the sender, not this letter
		return &app.PauseError{Err: said}
	case code >= 500:
		return fmt.Errorf("%w: %w", app.ErrLetterRefused, said)
	}
	return said
}

// withoutAddresses is an error's text for the log: servers like to repeat what they were told.
func withoutAddresses(err error) string {
	words := strings.Fields(clean(err.Error(), 300))
	for i, w := range words {
		if strings.Contains(w, "@") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}
