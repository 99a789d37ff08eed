package mail

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/test/kit"
)

// numberedEmail returns a distinct e-mail.
func numberedEmail(n int) outbox.Email {
	l := paidEmail()
	l.About = fmt.Sprint("order-", n)
	return l
}

// deliverAll sends count e-mails, at most concurrency at the same time, and checks that each e-mail arrives once, with
// its own Message-ID.
func deliverAll(t *testing.T, s *Sender, server *kit.MailServer, count, concurrency int) {
	t.Helper()
	before := len(server.Mails())
	var next atomic.Int64
	var all sync.WaitGroup
	for range concurrency {
		all.Go(func() {
			for n := int(next.Add(1)); n <= count; n = int(next.Add(1)) {
				if err := s.Deliver(t.Context(), numberedEmail(before+n), posted); err != nil {
					t.Errorf("e-mail %d: got error %v", n, err)
				}
			}
		})
	}
	all.Wait()
	names := make(map[string]bool)
	for _, m := range server.Mails() {
		header, _, _ := parseEmail(t, m.Text)
		names[header.Get("Message-Id")] = true
	}
	if got := len(server.Mails()); got != before+count || len(names) != got {
		t.Errorf("got %d e-mails, %d of them different, want %d", got, len(names), before+count)
	}
}

// An e-mail reuses a connection. At most one connection per concurrent e-mail is open, and at most maxEmails e-mails
// are sent on each connection.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	for _, mode := range []TLS{StartTLS, ImplicitTLS, NoTLS} {
		server := serverFor(t, mode)
		s := senderFor(t, server, mode)
		s.pool.idle = time.Hour
		deliverAll(t, s, server, 60, 4)
		if n := server.Connections(); n > 4 {
			t.Errorf("TLS mode %d: got %d connections for 60 e-mails, 4 at the same time; want at most 4", mode, n)
		}
	}
	server := kit.NewMailServer(t)
	s := senderFor(t, server, NoTLS)
	s.pool.idle, s.pool.maxEmails = time.Hour, 10
	deliverAll(t, s, server, 35, 1)
	if n := server.Connections(); n != 4 {
		t.Errorf("got %d connections for 35 e-mails, at most 10 on each; want 4", n)
	}
}

// An e-mail does not fail because the server has closed a kept connection or accepts no more e-mails on it.
func TestUnusableIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{kit.SMTPHangUp, "421 4.7.0 idle for too long", "452 4.5.3 too many e-mails"} {
		server := kit.NewMailServer(t)
		s := senderFor(t, server, NoTLS)
		s.pool.idle = time.Hour
		deliverAll(t, s, server, 1, 1)
		var once atomic.Bool
		server.SetReply(func(step, _ string) string {
			if step == kit.SMTPMailFrom && once.CompareAndSwap(false, true) {
				return reply
			}
			return ""
		})
		deliverAll(t, s, server, 3, 1)
		if n := server.Connections(); n != 2 || !once.Load() {
			t.Errorf("reply %q: got %d connections, want 2", reply, n)
		}
	}
}

// If the connection breaks after the server has begun to receive an e-mail, the outcome is unknown. The sender does not
// repeat such an e-mail; the queue repeats it. The sender does not repeat a rejected e-mail either.
func TestStartedEmailIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step, reply string
		refused     bool
	}{
		{kit.SMTPRcptTo, kit.SMTPHangUp, false},
		{kit.SMTPData, kit.SMTPHangUp, false},
		{kit.SMTPBody, kit.SMTPHangUp, false},
		{kit.SMTPBody, "451 4.3.0 disk full", false},
		{kit.SMTPRcptTo, "550 5.1.1 no such user", true},
	} {
		server := kit.NewMailServer(t)
		s := senderFor(t, server, NoTLS)
		s.pool.idle = time.Hour
		deliverAll(t, s, server, 1, 1)
		var attempts atomic.Int64
		server.SetReply(func(step, _ string) string {
			if step != c.step {
				return ""
			}
			attempts.Add(1)
			return c.reply
		})
		err := s.Deliver(t.Context(), numberedEmail(7), posted)
		var pause *outbox.PauseError
		if err == nil || errors.As(err, &pause) || errors.Is(err, outbox.ErrRejected) != c.refused {
			t.Errorf("%s %s: got %v, want an error; ErrRejected: %t", c.step, c.reply, err, c.refused)
		}
		if attempts.Load() != 1 || server.Connections() != 1 {
			t.Errorf("%s %s: got %d attempts on %d connections, want one attempt on one connection", c.step, c.reply,
				attempts.Load(), server.Connections())
		}
	}
}

// Kept connections send QUIT after the idle time and when the sender is closed. A closed sender keeps no connection.
func TestIdleConnectionsSendQuit(t *testing.T) {
	t.Parallel()
	for what, idle := range map[string]time.Duration{"idle": time.Millisecond, "closed": time.Hour} {
		server := kit.NewMailServer(t)
		var quits atomic.Int64
		server.SetReply(func(step, _ string) string {
			if step == kit.SMTPQuit {
				quits.Add(1)
			}
			return ""
		})
		s := senderFor(t, server, NoTLS)
		s.pool.idle = idle
		deliverAll(t, s, server, 1, 1)
		if what == "closed" {
			s.Close()
		}
		waitForQuits := func(want int64) {
			t.Helper()
			kit.Eventually(t, time.Minute, func() (bool, string) {
				return quits.Load() == want, fmt.Sprintf("%s: %d of %d connections sent QUIT", what, quits.Load(), want)
			})
		}
		waitForQuits(1)
		deliverAll(t, s, server, 1, 1)
		waitForQuits(2)
		if s.pool.take() != nil {
			t.Errorf("%s: a connection is still open", what)
		}
	}
}
