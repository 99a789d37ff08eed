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

	"stampede/app/outbox"
	"stampede/app/shop"
)

// within limits one delivery from the dial to the last reply, even with a slow server. The stream retries an e-mail
// after 30 s at the earliest.
const within = 20 * time.Second

// Sender sends e-mails to a mail server, over one connection per concurrent e-mail. After a success, the connection is
// kept for the next e-mail for a short time.
type Sender struct {
	server Server
	from   *netmail.Address
	within time.Duration
	tls    *tls.Config
	kept   kept
}

// NewSender returns a sender. It makes no connection yet.
func NewSender(s Server, from *netmail.Address) *Sender {
	return &Sender{
		server: s, from: from, within: within, kept: kept{most: mailsPerLine, idle: keepIdle},
		tls: &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12},
	}
}

// Close ends the kept connections. Later e-mails use a new connection each.
func (s *Sender) Close() { s.kept.close() }

// Deliver sends an e-mail that was posted at the given time. The package documentation explains its errors.
func (s *Sender) Deliver(ctx context.Context, l outbox.Email, posted shop.Millis) error {
	m, err := message(s.from, &l, posted)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()
	if known := s.kept.take(); known != nil {
		// The server may have closed it or accept no more e-mails on it: then a new connection is used.
		if err = s.send(ctx, known, m); !notBegun(err) {
			return outcome(m, err)
		}
		if m, err = message(s.from, &l, posted); err != nil { // the library has stored the failure in the other message
			return err
		}
	}
	fresh, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return outcome(m, s.send(ctx, fresh, m))
}

// connect opens a connection that is ready for e-mails.
func (s *Sender) connect(ctx context.Context) (*line, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, &outbox.PauseError{Err: fmt.Errorf("reach the mail server %s: %w", &s.server, err)}
	}
	calledOff := endsWith(ctx, conn)
	defer calledOff()
	client, session, err := s.login(ctx, conn)
	if err != nil {
		_ = conn.Close()
		err = fmt.Errorf("log in to the mail server %s: %s", &s.server, withoutAddresses(err))
		return nil, &outbox.PauseError{Err: err}
	}
	return &line{conn: conn, client: client, session: session}, nil
}

// send sends one e-mail, and keeps the connection after a success.
func (s *Sender) send(ctx context.Context, l *line, m *gomail.Msg) error {
	keep := endsWith(ctx, l.conn)
	err := l.client.SendWithSMTPClient(l.session, m)
	l.mails++
	if keep() && err == nil {
		s.kept.put(l)
	} else {
		_ = l.conn.Close() // sent data is not affected
	}
	return err
}

// endsWith closes the connection when ctx ends, because the library sets new deadlines at each step. The returned
// function cancels that and reports whether it was in time.
func endsWith(ctx context.Context, conn net.Conn) func() bool {
	return context.AfterFunc(ctx, func() { _ = conn.Close() })
}

// notBegun reports whether the server has received nothing of the e-mail, or has rejected its sender.
func notBegun(err error) bool {
	sending, ok := errors.AsType[*gomail.SendError](err)
	return ok && (sending.Reason == gomail.ErrConnCheck || sending.Reason == gomail.ErrSMTPMailFrom)
}

func (s *Sender) dial(ctx context.Context) (net.Conn, error) {
	if s.server.TLS == ImplicitTLS {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, "tcp", s.server.String())
	}
	return new(net.Dialer).DialContext(ctx, "tcp", s.server.String())
}

// login prepares the connection for e-mails: TLS and login.
func (s *Sender) login(ctx context.Context, conn net.Conn) (*gomail.Client, *smtp.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.server.Port), gomail.WithTimeout(s.within), gomail.WithTLSConfig(s.tls), gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	switch s.server.TLS {
	case StartTLS:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	case ImplicitTLS: // dial has started TLS; the library detects that
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

// outcome returns the result of an e-mail that was begun. Errors after the server has accepted it are ignored.
func outcome(m *gomail.Msg, err error) error {
	if err == nil || m.IsDelivered() {
		return nil
	}
	sending, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return fmt.Errorf("send: %s", withoutAddresses(err))
	}
	said := fmt.Errorf("the mail server returned %d: %s", sending.ErrorCode(), withoutAddresses(err))
	if sending.ErrorCode() == 0 { // the connection broke: it is unknown whether the server has accepted it
		said = fmt.Errorf("the connection to the mail server broke: %s", withoutAddresses(err))
	}
	switch code := sending.ErrorCode(); {
	case code == 421, sending.Reason == gomail.ErrSMTPMailFrom && code >= 400: // concerns the sender, not this e-mail
		return &outbox.PauseError{Err: said}
	case code >= 500:
		return fmt.Errorf("%w: %w", outbox.ErrRejected, said)
	}
	return said
}

// withoutAddresses returns an error's text for the log: servers often repeat the addresses.
func withoutAddresses(err error) string {
	words := strings.Fields(clean(err.Error(), 300))
	for i, w := range words {
		if strings.Contains(w, "@") {
			words[i] = "…"
		}
	}
	return strings.Join(words, " ")
}
