package streams

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// anEmail makes an e-mail with the given About.
func anEmail(about string) outbox.Email {
	return outbox.Email{
		Kind: outbox.EmailReset, About: about, To: "ada@mail.example", Lang: "en", Link: "https://shop.example/#reset=k",
	}
}

// An e-mail is sent once and then deleted with its link. Appending it again does nothing, before and after it was sent.
func TestEmailsAreSentOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := newReceiver(mailQueue(f), func(context.Context, try) error { return nil })
		s := NewMailStream(f.client)
		var lost *outbox.LostError // creates the mark
		if !errors.As(s.Check(f.ctx), &lost) {
			t.Error("a new Redis was not detected")
		}
		f.must(s.Confirm(f.ctx, lost))
		f.must(s.Check(f.ctx))
		r.send("one", "two", "one")
		stop := r.f.run(r.node("one", time.Hour))
		r.awaitAll([]string{"one", "two"})
		r.send("two", "three")
		r.awaitAll([]string{"three"})
		r.awaitCounts(0, 0)
		stop()
		if n := r.tried(""); n != 3 {
			t.Errorf("got the e-mails %v, want three", r.received)
		}
		if n, err := f.client.Exists(f.ctx, mailKey).Result(); err != nil || n != 1 {
			t.Errorf("got %d streams, %v, want 1", n, err)
		}
		one := anEmail("one")
		if ttl := f.client.PTTL(f.ctx, postedKey(&one)).Val(); ttl <= orderWeek || ttl > mailMarkLife {
			t.Errorf("the mark has a TTL of %v, want more than a week", ttl)
		}
	})
}

// orderWeek is how long e-mails about an order are written, see outbox.OrderMail.
const orderWeek = 7 * 24 * time.Hour

// E-mails do not fill Redis: beyond the limit no e-mail is appended, but appending one again succeeds.
func TestEmailsAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewMailStream(f.client)
		s.limit = 2
		f.must(s.Send(f.ctx, anEmail("one"), anEmail("two")))
		err := s.Send(f.ctx, anEmail("three"))
		if !errors.Is(err, shop.ErrTransient) || strings.Contains(err.Error(), "@") {
			t.Errorf("a third e-mail: got %v, want ErrTransient without the address", err)
		}
		f.must(s.Send(f.ctx, anEmail("one")))
		if n, err := s.Waiting(f.ctx); n != 2 || err != nil {
			t.Errorf("%d e-mails wait, %v, want 2", n, err)
		}
	})
}
