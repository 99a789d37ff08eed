package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// mailGroup are the nodes that send letters.
	mailGroup = "mailers"
	// mailOnce is how long a letter is known as posted: longer than an order is mailed about after it was paid.
	mailOnce = 8 * 24 * time.Hour
	// mailsAtMost is how many letters may wait, about 60 MB of them: a mail server that is away for days must not fill
	// Redis. Whoever has one more keeps it and comes again.
	mailsAtMost = 100_000
)

// MailStream are the letters that are to be sent. An entry has the fields
//
//	kind    see app.LetterKind
//	letter  JSON of app.Letter; its link is a secret, so the entry is deleted once it is sent
//
// What cannot be sent is moved to the dead ones, where an operator finds it. It implements app.Mailer.
type MailStream struct {
	client redis.UniversalClient
	most   int
}

var _ app.Mailer = (*MailStream)(nil)

// NewMailStream touches nothing in Redis yet.
func NewMailStream(client redis.UniversalClient) *MailStream {
	return &MailStream{client: client, most: mailsAtMost}
}

// Send takes letters over. The same letter again, also after a lost reply, is not a second one.
func (s *MailStream) Send(ctx context.Context, letters ...app.Letter) error {
	for i := range letters {
		l := &letters[i]
		body, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("%w: encode a letter: %w", app.ErrPermanent, err)
		}
		keys := []string{mailKey, mailMark(l)}
		reply, err := mailPostScript.run(ctx, s.client, keys, string(l.Kind), body, mailOnce.Milliseconds(), s.most)
		if err != nil {
			return err
		}
		switch code := integer(reply[0]); code {
		case codeDone, codeAlready:
		case codeRejected:
			return fmt.Errorf("%w: %d letters wait for the mail server, which is the most", app.ErrTransient, s.most)
		default:
			return fmt.Errorf("post a letter: code %d, somebody else has written to %s", code, mailKey)
		}
	}
	return nil
}

// mailMark is the key that knows a letter.
func mailMark(l *app.Letter) string { return mailMarks + string(l.Kind) + ":" + l.About }

// Waiting tells how many letters are not sent yet.
func (s *MailStream) Waiting(ctx context.Context) (int64, error) { return s.length(ctx, mailKey) }

// CountDead tells how many could not be sent.
func (s *MailStream) CountDead(ctx context.Context) (int64, error) { return s.length(ctx, mailDeadKey) }

func (s *MailStream) length(ctx context.Context, key string) (int64, error) {
	n, err := s.client.XLen(ctx, key).Result()
	if err != nil {
		return 0, fmt.Errorf("count letters: %w", transient(err))
	}
	return n, nil
}

// Dead lists letters that could not be sent, oldest first.
func (s *MailStream) Dead(ctx context.Context) ([]app.DeadMail, error) {
	var all []app.DeadMail
	for from := "-"; ; {
		page, err := s.client.XRangeN(ctx, mailDeadKey, from, "+", parkedPage).Result()
		if err != nil {
			return nil, fmt.Errorf("read dead mails: %w", transient(err))
		}
		for _, m := range page {
			all = append(all, parseDeadMail(m))
			from = "(" + m.ID
		}
		if len(page) < parkedPage {
			return all, nil
		}
	}
}

func parseDeadMail(m redis.XMessage) app.DeadMail {
	field := func(name string) string { return text(m.Values[name]) }
	d := app.DeadMail{
		ID: m.ID, Kind: app.LetterKind(field("kind")), Reason: field("reason"),
		Tries: int(number(field("deliveries"))), At: app.Millis(number(field("at"))),
	}
	if l, err := parseMail(m); err == nil {
		d.About, d.To = l.About, l.To
	}
	return d
}

// Retry has a dead letter sent once more. ErrNoRow: there is none under that id, or not any more. ErrPermanent: there
// is nothing in it that could be sent.
func (s *MailStream) Retry(ctx context.Context, id string) error {
	if _, ok := entryID(id); !ok {
		return fmt.Errorf("dead mail %.40q: %w", id, app.ErrNoRow)
	}
	reply, err := mailUnparkScript.run(ctx, s.client, []string{mailDeadKey, mailKey}, id)
	if err != nil {
		return err
	}
	switch code := integer(reply[0]); {
	case code == codeRejected:
		return fmt.Errorf("%w: there is no letter in dead mail %s that could be sent", app.ErrPermanent, id)
	case code != codeDone:
		return fmt.Errorf("send dead mail %s: code %d, somebody else has written to %s or %s", id, code, mailDeadKey,
			mailKey)
	case text(reply[1]) == "":
		return fmt.Errorf("dead mail %s: %w", id, app.ErrNoRow)
	}
	return nil
}

// Drop forgets a dead letter; false when it was gone already.
func (s *MailStream) Drop(ctx context.Context, id string) (bool, error) {
	if _, ok := entryID(id); !ok {
		return false, nil // what cannot exist is gone
	}
	n, err := s.client.XDel(ctx, mailDeadKey, id).Result()
	if err != nil {
		return false, fmt.Errorf("drop dead mail %s: %w", id, transient(err))
	}
	return n == 1, nil
}

// park moves an entry to the dead letters; false when the group had acknowledged it. It may be repeated.
func (s *MailStream) park(ctx context.Context, id, reason string) (bool, error) {
	keys := []string{mailKey, mailDeadKey}
	reply, err := mailParkScript.run(ctx, s.client, keys, mailGroup, id, cut(reason, longReason))
	if err != nil {
		return false, err
	}
	if code := integer(reply[0]); code != codeDone {
		return false, fmt.Errorf("park letter %s: code %d, somebody else has written to %s or %s", id, code, mailKey,
			mailDeadKey)
	}
	return text(reply[1]) != "", nil
}

// sent acknowledges and deletes an entry, in one step.
func (s *MailStream) sent(ctx context.Context, id string) error {
	_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.XAck(ctx, mailKey, mailGroup, id)
		p.XDel(ctx, mailKey, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("acknowledge letter %s: %w", id, transient(err))
	}
	return nil
}

func parseMail(m redis.XMessage) (app.Letter, error) {
	var l app.Letter
	if err := json.Unmarshal([]byte(text(m.Values["letter"])), &l); err != nil {
		return l, fmt.Errorf("%w: there is no letter in it", app.ErrPermanent)
	}
	if l.Kind == "" || l.To == "" || string(l.Kind) != text(m.Values["kind"]) {
		return l, fmt.Errorf("%w: its letter has no kind or goes to nobody", app.ErrPermanent)
	}
	return l, nil
}
