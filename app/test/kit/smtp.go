package kit

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// Steps of the SMTP dialogue at which a test can change the reply.
const (
	SMTPGreeting = "CONNECT"
	SMTPMailFrom = "MAIL"
	SMTPRcptTo   = "RCPT"
	SMTPData     = "DATA"
	SMTPBody     = "BODY" // the whole e-mail was received
	SMTPQuit     = "QUIT"
)

// Special replies that a test can choose.
const (
	SMTPHangUp = "hang up" // closes the connection; at SMTPBody the e-mail is stored but not acknowledged
	SMTPSilent = "silent"  // no reply until the test ends
)

// MailServer is a small SMTP server on loopback that stores received e-mails.
type MailServer struct {
	Addr           string
	User, Password string         // required login; "": none
	Logins         string         // mechanisms of the login that the server offers; "": PLAIN
	TLS            *tls.Config    // enables STARTTLS; nil: no TLS
	Roots          *x509.CertPool // trusts the server's certificate
	Implicit       bool           // TLS from the first byte

	mu          sync.Mutex
	reply       func(step, arg string) string
	mails       []ReceivedMail
	connections int
	stopped     chan struct{}
}

// ReceivedMail is one e-mail from one DATA command.
type ReceivedMail struct {
	From, To string // envelope addresses
	Text     string // headers and body
}

// NewMailServer starts a server that accepts all e-mails until the test ends. setup may change it before it listens.
func NewMailServer(t testing.TB, setup ...func(*MailServer)) *MailServer {
	t.Helper()
	s := &MailServer{stopped: make(chan struct{})}
	for _, change := range setup {
		change(s)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = listener.Addr().String()
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			sessions.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		close(s.stopped)
		_ = listener.Close()
		sessions.Wait()
	})
	return s
}

// WithCertificate creates a certificate for 127.0.0.1 and enables STARTTLS.
func WithCertificate(t testing.TB) func(*MailServer) {
	return func(s *MailServer) {
		c := NewCertificate(t)
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			t.Fatal(err)
		}
		s.Roots = x509.NewCertPool()
		s.Roots.AppendCertsFromPEM([]byte(c.PEM(t)))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	}
}

// SetReply sets a function that chooses the replies from now on. If reply is nil or returns "", the server sends its
// default reply.
func (s *MailServer) SetReply(reply func(step, arg string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = reply
}

// Mails returns the stored e-mails in the order of receipt.
func (s *MailServer) Mails() []ReceivedMail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ReceivedMail(nil), s.mails...)
}

// Connections returns the number of accepted connections.
func (s *MailServer) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// smtpSession is one connection of a client.
type smtpSession struct {
	server        *MailServer
	conn          net.Conn
	reader        *bufio.Reader
	authenticated bool // whether the client has logged in or no login is required
	mail          ReceivedMail
}

// serve runs one session.
func (s *MailServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	ended := make(chan struct{})
	defer close(ended)
	go func(raw net.Conn) { // close connections that are still open when the test ends
		select {
		case <-s.stopped:
			_ = raw.Close()
		case <-ended:
		}
	}(conn)
	s.mu.Lock()
	s.connections++
	s.mu.Unlock()
	if s.Implicit {
		conn = tls.Server(conn, s.TLS)
	}
	c := &smtpSession{server: s, conn: conn, reader: bufio.NewReader(conn), authenticated: s.User == ""}
	if !continues(c.sendReply(SMTPGreeting, "", "220 kit ESMTP")) {
		return
	}
	for {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return
		}
		verb, arg, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if !continues(c.execute(strings.ToUpper(verb), arg)) {
			return
		}
	}
}

// continues reports whether the session continues after the reply.
func continues(reply string) bool {
	return reply != SMTPHangUp && reply != SMTPSilent && !strings.HasPrefix(reply, "421") &&
		!strings.HasPrefix(reply, "221")
}

// sendReply sends the default reply for a step, or the test's reply, and returns the sent reply.
func (ss *smtpSession) sendReply(step, arg, defaultReply string) string {
	ss.server.mu.Lock()
	reply := ss.server.reply
	ss.server.mu.Unlock()
	if reply != nil {
		if a := reply(step, arg); a != "" {
			defaultReply = a
		}
	}
	switch defaultReply {
	case SMTPHangUp:
		return defaultReply
	case SMTPSilent:
		<-ss.server.stopped
		return defaultReply
	}
	if _, err := fmt.Fprintf(ss.conn, "%s\r\n", defaultReply); err != nil {
		return SMTPHangUp
	}
	return defaultReply
}

// execute executes one command and returns the reply.
func (ss *smtpSession) execute(verb, arg string) string {
	s := ss.server
	switch verb {
	case "EHLO":
		_, encrypted := ss.conn.(*tls.Conn)
		features := "250-kit\r\n"
		if s.TLS != nil && !encrypted {
			features += "250-STARTTLS\r\n"
		}
		if s.User != "" {
			features += "250-AUTH " + cmp.Or(s.Logins, "PLAIN") + "\r\n"
		}
		return ss.sendReply(verb, arg, features+"250 8BITMIME")
	case "STARTTLS":
		reply := ss.sendReply(verb, arg, "220 continue")
		ss.conn = tls.Server(ss.conn, s.TLS)
		ss.reader = bufio.NewReader(ss.conn)
		return reply
	case "AUTH":
		credentials, plain := strings.CutPrefix(arg, "PLAIN ")
		user, password := "", ""
		if plain {
			_, both, _ := strings.Cut(unbase64(credentials), "\x00")
			user, password, _ = strings.Cut(both, "\x00")
		} else if arg == "LOGIN" {
			user, password = ss.read("Username:"), ss.read("Password:")
		}
		if ss.authenticated = user == s.User && password == s.Password; !ss.authenticated {
			return ss.sendReply(verb, arg, "535 5.7.8 unknown user")
		}
		return ss.sendReply(verb, arg, "235 welcome")
	case SMTPMailFrom:
		ss.mail = ReceivedMail{From: arg}
		if !ss.authenticated {
			return ss.sendReply(verb, arg, "530 5.7.0 log in first")
		}
	case SMTPRcptTo:
		ss.mail.To = arg
	case SMTPData:
		reply := ss.sendReply(verb, arg, "354 continue")
		if strings.HasPrefix(reply, "354") {
			return ss.receiveEmail()
		}
		return reply
	case SMTPQuit:
		return ss.sendReply(verb, arg, "221 bye")
	}
	return ss.sendReply(verb, arg, "250 ok")
}

// read sends a question of the login mechanism LOGIN and returns the reply.
func (ss *smtpSession) read(question string) string {
	_, _ = fmt.Fprintf(ss.conn, "334 %s\r\n", base64.StdEncoding.EncodeToString([]byte(question)))
	line, _ := ss.reader.ReadString('\n')
	return unbase64(strings.TrimSpace(line))
}

func unbase64(text string) string {
	decoded, _ := base64.StdEncoding.DecodeString(text)
	return string(decoded)
}

// receiveEmail reads an e-mail. It stores the e-mail if the reply is 250 or SMTPHangUp.
func (ss *smtpSession) receiveEmail() string {
	var text strings.Builder
	for {
		line, err := ss.reader.ReadString('\n')
		if err != nil {
			return SMTPHangUp
		}
		if line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	ss.mail.Text = text.String()
	reply := ss.sendReply(SMTPBody, ss.mail.Text, "250 taken")
	if reply == SMTPHangUp || strings.HasPrefix(reply, "250") {
		ss.server.mu.Lock()
		defer ss.server.mu.Unlock()
		ss.server.mails = append(ss.server.mails, ss.mail)
	}
	return reply
}
