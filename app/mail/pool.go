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
	// maxEmailsPerConn is the maximum number of e-mails on one connection; servers close connections with too many.
	maxEmailsPerConn = 100
	// keepIdle is how long a connection waits for its next e-mail: longer than a deliverer's pause between two reads of
	// its queue.
	keepIdle = 5 * time.Second
	// quitTimeout limits the QUIT command.
	quitTimeout = 2 * time.Second
)

// connection is a connection to the mail server, used by one e-mail at a time.
type connection struct {
	conn       net.Conn
	client     *gomail.Client
	session    *smtp.Client
	mails      int
	closeTimer *time.Timer // set while it is kept
}

// end sends QUIT, as servers expect, and closes the connection.
func (l *connection) end() {
	_ = l.conn.SetDeadline(time.Now().Add(quitTimeout))
	_ = l.session.Quit()
	_ = l.conn.Close()
}

// pool has the idle connections. There are at most as many as there were concurrent e-mails. A connection ends after
// idle without an e-mail, or after most e-mails.
type pool struct {
	maxEmails int
	idle      time.Duration

	mu        sync.Mutex
	idleConns []*connection
	closed    bool
}

// take returns the most recently used connection; nil: no idle connection.
func (k *pool) take() *connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.idleConns) == 0 {
		return nil
	}
	last := len(k.idleConns) - 1
	l := k.idleConns[last]
	k.idleConns = k.idleConns[:last]
	l.closeTimer.Stop()
	return l
}

// put keeps a connection for the next e-mail, or ends it.
func (k *pool) put(l *connection) {
	k.mu.Lock()
	keep := !k.closed && l.mails < k.maxEmails
	if keep {
		l.closeTimer = time.AfterFunc(k.idle, func() { k.drop(l) })
		k.idleConns = append(k.idleConns, l)
	}
	k.mu.Unlock()
	if !keep {
		l.end()
	}
}

// drop ends a connection unless it was taken meanwhile.
func (k *pool) drop(l *connection) {
	k.mu.Lock()
	at := slices.Index(k.idleConns, l)
	if at >= 0 {
		k.idleConns = slices.Delete(k.idleConns, at, at+1)
	}
	k.mu.Unlock()
	if at >= 0 {
		l.end()
	}
}

// close ends all connections, and later those in use.
func (k *pool) close() {
	k.mu.Lock()
	idleConns := k.idleConns
	k.idleConns, k.closed = nil, true
	k.mu.Unlock()
	for _, l := range idleConns {
		l.closeTimer.Stop()
		l.end()
	}
}
