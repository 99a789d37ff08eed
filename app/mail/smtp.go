package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// deliverTimeout limits one delivery from the dial to the last reply, even with a slow server. The stream retries an
// e-mail after 30 s at the earliest.
const deliverTimeout = 20 * time.Second

// Sender sends e-mails to a mail server, over one connection per concurrent e-mail. After a success, the connection is
// kept for the next e-mail for a short time.
type Sender struct {
	server  Server
	from    *netmail.Address
	timeout time.Duration
	tls     *tls.Config
	pool    pool
}

// NewSender returns a sender. It makes no connection yet.
func NewSender(s Server, from *netmail.Address) *Sender {
	return &Sender{
		server: s, from: from, timeout: deliverTimeout, pool: pool{maxEmails: maxEmailsPerConn, idle: keepIdle},
		tls: &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12},
	}
}

// Close ends the kept connections. Each later e-mail uses a new connection.
func (s *Sender) Close() { s.pool.close() }

// Deliver sends an e-mail that was posted at the given time. The package documentation explains its errors.
func (s *Sender) Deliver(ctx context.Context, l outbox.Email, posted shop.Millis) error {
	m, err := message(s.from, &l, posted)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if reused := s.pool.take(); reused != nil {
		// If the server has closed this connection or accepts no more e-mails on it, the e-mail is sent on a new one.
		if err = s.send(ctx, reused, m); !notStarted(err) {
			return outcome(m, err)
		}
		if m, err = message(s.from, &l, posted); err != nil { // the first message has stored the failure
			return err
		}
	}
	opened, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return outcome(m, s.send(ctx, opened, m))
}

// connect opens a connection that is ready for e-mails.
func (s *Sender) connect(ctx context.Context) (*connection, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, &outbox.PauseError{Err: fmt.Errorf("reach the mail server %s: %w", &s.server, err)}
	}
	cancelClose := closeOnDone(ctx, conn)
	defer cancelClose()
	client, session, err := s.login(ctx, conn)
	if err != nil {
		_ = conn.Close()
		err = fmt.Errorf("log in to the mail server %s: %s", &s.server, withoutAddresses(err))
		return nil, &outbox.PauseError{Err: err}
	}
	return &connection{conn: conn, client: client, session: session}, nil
}

// send sends one e-mail, and keeps the connection after a success.
func (s *Sender) send(ctx context.Context, l *connection, m *gomail.Msg) error {
	cancelClose := closeOnDone(ctx, l.conn)
	err := l.client.SendWithSMTPClient(l.session, m)
	l.mails++
	if cancelClose() && err == nil {
		s.pool.put(l)
	} else {
		_ = l.conn.Close() // an accepted e-mail is not affected
	}
	return err
}

// closeOnDone closes the connection when ctx ends, because the library sets new deadlines at each step. The returned
// function cancels the close and reports whether the close had not started yet.
func closeOnDone(ctx context.Context, conn net.Conn) func() bool {
	return context.AfterFunc(ctx, func() { _ = conn.Close() })
}

// notStarted reports whether the server has received nothing of the e-mail, or has rejected its sender.
func notStarted(err error) bool {
	sendErr, ok := errors.AsType[*gomail.SendError](err)
	return ok && (sendErr.Reason == gomail.ErrConnCheck || sendErr.Reason == gomail.ErrSMTPMailFrom)
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
		gomail.WithPort(s.server.Port), gomail.WithTimeout(s.timeout), gomail.WithTLSConfig(s.tls),
		gomail.WithoutNoop(),
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
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.server.User),
			gomail.WithPassword(s.server.Password))
		if s.server.TLS == NoTLS { // on this machine, see ParseServer
			options = append(options, gomail.WithSMTPAuthCustom(&localAuth{server: &s.server}))
		}
	}
	client, err := gomail.NewClient(s.server.Host, options...)
	if err != nil {
		return nil, nil, err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	return client, session, err
}

// localAuth logs in to a server on this machine without TLS, where the automatic choice of the library would send no
// password.
type localAuth struct {
	server *Server
	smtp.Auth
}

// Start chooses LOGIN if the server offers it and not PLAIN.
func (a *localAuth) Start(offered *smtp.ServerInfo) (string, []byte, error) {
	a.Auth = smtp.PlainAuth("", a.server.User, a.server.Password, a.server.Host, true)
	if slices.Contains(offered.Auth, "LOGIN") && !slices.Contains(offered.Auth, "PLAIN") {
		a.Auth = smtp.LoginAuth(a.server.User, a.server.Password, a.server.Host, true)
	}
	return a.Auth.Start(offered)
}

// outcome returns the result of Deliver for an e-mail that was sent. It ignores errors after the server has accepted
// the e-mail.
func outcome(m *gomail.Msg, err error) error {
	if err == nil || m.IsDelivered() {
		return nil
	}
	sendErr, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		return fmt.Errorf("send: %s", withoutAddresses(err))
	}
	replyErr := fmt.Errorf("the mail server returned %d: %s", sendErr.ErrorCode(), withoutAddresses(err))
	if sendErr.ErrorCode() == 0 { // the connection broke: it is unknown whether the server has accepted the e-mail
		replyErr = fmt.Errorf("the connection to the mail server broke: %s", withoutAddresses(err))
	}
	switch code := sendErr.ErrorCode(); {
	case code == 421, sendErr.Reason == gomail.ErrSMTPMailFrom && code >= 400: // concerns the sender, not this e-mail
		return &outbox.PauseError{Err: replyErr}
	case code >= 500:
		return fmt.Errorf("%w: %w", outbox.ErrRejected, replyErr)
	}
	return replyErr
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
