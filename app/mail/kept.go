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
	// mailsPerLine is how many e-mails one connection carries; servers end those with too many.
	mailsPerLine = 100
	// keepIdle is how long a connection waits for its next e-mail: longer than a deliverer looks away from its queue.
	keepIdle = 5 * time.Second
	// goodbyeWithin bounds the leave that is taken.
	goodbyeWithin = 2 * time.Second
)

// line is a connection that the mail server takes e-mails on, used by one e-mail at a time.
type line struct {
	conn    net.Conn
	client  *gomail.Client
	session *smtp.Client
	mails   int
	leave   *time.Timer // while it is kept
}

// end takes leave, as servers like it, and closes.
func (l *line) end() {
	_ = l.conn.SetDeadline(time.Now().Add(goodbyeWithin))
	_ = l.session.Quit()
	_ = l.conn.Close()
}

// kept are the connections on which no e-mail is under way. They are as many as there were e-mails at once, and end
// when none has come for idle, or most have gone.
type kept struct {
	most int
	idle time.Duration

	mu     sync.Mutex
	lines  []*line
	closed bool
}

// take answers the one that was used last; nil when there is none.
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

// close ends all, and those that come back.
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
