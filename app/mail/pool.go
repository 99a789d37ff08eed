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
	// keepIdle is how long a connection waits for its next e-mail. It is longer than the pause of streams.Deliverer
	// between two reads of its queue.
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
	closeTimer *time.Timer // set while the connection is in the pool
}

// end sends QUIT, as servers expect, and closes the connection.
func (c *connection) end() {
	_ = c.conn.SetDeadline(time.Now().Add(quitTimeout))
	_ = c.session.Quit()
	_ = c.conn.Close()
}

// pool holds the idle connections. Their number is at most the highest number of concurrent e-mails. A connection ends
// after the time idle without an e-mail, or after maxEmails e-mails.
type pool struct {
	maxEmails int
	idle      time.Duration

	mu        sync.Mutex
	idleConns []*connection
	closed    bool
}

// take returns the most recently used connection; nil: no idle connection.
func (p *pool) take() *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idleConns) == 0 {
		return nil
	}
	last := len(p.idleConns) - 1
	c := p.idleConns[last]
	p.idleConns = p.idleConns[:last]
	c.closeTimer.Stop()
	return c
}

// put keeps a connection for the next e-mail. It ends the connection if the pool is closed or maxEmails is reached.
func (p *pool) put(c *connection) {
	p.mu.Lock()
	keep := !p.closed && c.mails < p.maxEmails
	if keep {
		c.closeTimer = time.AfterFunc(p.idle, func() { p.drop(c) })
		p.idleConns = append(p.idleConns, c)
	}
	p.mu.Unlock()
	if !keep {
		c.end()
	}
}

// drop ends a connection, unless take has already removed it from the pool.
func (p *pool) drop(c *connection) {
	p.mu.Lock()
	at := slices.Index(p.idleConns, c)
	if at >= 0 {
		p.idleConns = slices.Delete(p.idleConns, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		c.end()
	}
}

// close ends all idle connections. Connections in use end when they are put back.
func (p *pool) close() {
	p.mu.Lock()
	idleConns := p.idleConns
	p.idleConns, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idleConns {
		c.closeTimer.Stop()
		c.end()
	}
}
