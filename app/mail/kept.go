package mail

import (
	"net"
	"slices"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

const (
	// mailsPerLine is the maximum number of e-mails on one connection; servers close connections with too many.
	mailsPerLine = 100
	// keepIdle is how long a connection waits for its next e-mail: longer than a deliverer's pause between two reads of
	// its queue.
	keepIdle = 5 * time.Second
	// goodbyeWithin limits the QUIT command.
	goodbyeWithin = 2 * time.Second
)

// line is a connection to the mail server, used by one e-mail at a time.
type line struct {
	conn    net.Conn
	client  *gomail.Client
	session *smtp.Client
	mails   int
	leave   *time.Timer // set while it is kept
}

// end sends QUIT, as servers expect, and closes the connection.
func (l *line) end() {
	_ = l.conn.SetDeadline(time.Now().Add(goodbyeWithin))
	_ = l.session.Quit()
	_ = l.conn.Close()
}

// kept has the idle connections. There are at most as many as there were concurrent e-mails. A connection ends after
// idle without an e-mail, or after most e-mails.
type kept struct {
	most int
	idle time.Duration

	mu     sync.Mutex
	lines  []*line
	closed bool
}

// take returns the most recently used connection; nil: no idle connection.
func (k *kept) take() *line {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.lines) == 0 {
		return nil
	}
	last := len(k.lines) - 1
	l := k.lines[last]
	k.lines = k.lines[:last]
	l.leave.Stop()
	return l
}

// put keeps a connection for the next e-mail, or ends it.
func (k *kept) put(l *line) {
	k.mu.Lock()
	keep := !k.closed && l.mails < k.most
	if keep {
		l.leave = time.AfterFunc(k.idle, func() { k.drop(l) })
		k.lines = append(k.lines, l)
	}
	k.mu.Unlock()
	if !keep {
		l.end()
	}
}

// drop ends a connection unless it was taken meanwhile.
func (k *kept) drop(l *line) {
	k.mu.Lock()
	at := slices.Index(k.lines, l)
	if at >= 0 {
		k.lines = slices.Delete(k.lines, at, at+1)
	}
	k.mu.Unlock()
	if at >= 0 {
		l.end()
	}
}

// close ends all connections, and later those in use.
func (k *kept) close() {
	k.mu.Lock()
	lines := k.lines
	k.lines, k.closed = nil, true
	k.mu.Unlock()
	for _, l := range lines {
		l.leave.Stop()
		l.end()
	}
}
