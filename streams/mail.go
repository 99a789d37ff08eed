package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
)

const (
	// mailGroup is the group of the nodes that send e-mails.
	mailGroup = "mailers"
	// OrderMailGroup is the group on the paid stream that writes e-mails about orders.
	OrderMailGroup = "mail"
	// mailMarkLife is how long an e-mail is marked as appended: longer than an order can cause e-mails after its
	// payment.
	mailMarkLife = 8 * 24 * time.Hour
	// maxMails is the maximum number of waiting e-mails, about 60 MB: an unreachable mail server must not fill Redis.
	maxMails = 100_000
	// An e-mail is sent again after mailPause, then after pauses that double. It is quarantined after mailAttempts,
	// about an hour after the first. An attempt takes less than mailPause.
	mailPause, maxMailPause = 30 * time.Second, time.Hour
	mailAttempts            = 8
	// mailPlaces is the number of new e-mails sent at the same time, mailRepeatPlaces the number of repeated ones.
	mailPlaces, mailRepeatPlaces = 3, 1
	// mailServerPause is the pause between two attempts while the mail server is unreachable.
	mailServerPause = 5 * time.Second
)

// MailStream is the queue of e-mails. The fields of an entry:
//
//	kind  see outbox.EmailKind
//	body  JSON of outbox.Email; its link is a secret, so the entry is deleted once it is sent
//
// E-mails that cannot be sent are quarantined.
type MailStream struct {
	queue
	limit int
}

// NewMailStream makes the queue of e-mails. It does not access Redis.
func NewMailStream(client redis.UniversalClient) *MailStream {
	return &MailStream{limit: maxMails, queue: queue{
		client: client, stream: mailKey, quarantine: mailDeadKey, mark: mailMark, listCommand: "stampede mail list",
		discard: true,
	}}
}

// NewMailDeliverer makes a deliverer. deliver receives the instant at which the e-mail was appended. It must return
// within mailPause; see Deliverer for its errors. If a node dies between sending and acknowledging, the e-mail is sent
// twice, with the same Message-ID.
func NewMailDeliverer(
	client, blocking redis.UniversalClient, consumer string,
	deliver func(ctx context.Context, m outbox.Email, posted shop.Millis) error,
) *Deliverer {
	d := &Deliverer{
		reader:   NewMailStream(client).reader(blocking, mailGroup, consumer, mailPause, maxMailPause),
		attempts: mailAttempts, logged: []string{"kind"},
		deliver: func(ctx context.Context, m redis.XMessage) error {
			mail, err := parseMail(m)
			if err != nil {
				return fmt.Errorf("%w: %w", outbox.ErrRejected, err)
			}
			posted, _ := entryID(m.ID)
			return deliver(ctx, mail, shop.Millis(posted.Time))
		},
	}
	d.newLane.places, d.repeatLane.places = mailPlaces, mailRepeatPlaces
	d.setPauses(readBlock, claimInterval, mailServerPause)
	return d
}

// Send appends e-mails. Repeating one, also after a lost reply, does nothing.
func (s *MailStream) Send(ctx context.Context, mails ...outbox.Email) error {
	for i := range mails {
		m := &mails[i]
		body, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("%w: encode an e-mail: %w", shop.ErrPermanent, err)
		}
		keys := []string{mailKey, postedKey(m)}
		reply, err := mailPostScript.run(ctx, s.client, keys, string(m.Kind), body, mailMarkLife.Milliseconds(),
			s.limit)
		if err != nil {
			return err
		}
		switch code := integer(reply[0]); code {
		case codeDone, codeAlready:
		case codeRejected:
			return fmt.Errorf("%w: %d e-mails wait for the mail server: the limit is reached", shop.ErrTransient, s.limit)
		default:
			return fmt.Errorf("append an e-mail: code %d: %s has a wrong type", code, mailKey)
		}
	}
	return nil
}

// postedKey is the key that marks an e-mail as appended.
func postedKey(m *outbox.Email) string { return mailPostedPrefix + string(m.Kind) + ":" + m.About }

// Check returns a LostError if e-mails may be missing. The marks of appended e-mails prevent duplicates.
func (s *MailStream) Check(ctx context.Context) error {
	_, err := s.post(ctx, 0)
	return err
}

// RepeatRecent lets OrderMailGroup read the whole paid stream again: it destroys the group, and the reader creates it
// again. A single server does not need this: a posting is acknowledged after its e-mail was appended, so a loss of the
// e-mail includes the acknowledgement.
func (s *MailStream) RepeatRecent(ctx context.Context) error {
	if _, cluster := s.client.(*redis.ClusterClient); !cluster {
		return nil
	}
	err := s.client.XGroupDestroy(ctx, paidKey, OrderMailGroup).Err()
	if err != nil && !strings.Contains(err.Error(), "requires the key to exist") {
		return fmt.Errorf("read the stream of paid orders again: %w", transient(err))
	}
	return nil
}

// Waiting returns the number of e-mails that are not sent yet.
func (s *MailStream) Waiting(ctx context.Context) (int64, error) { return s.length(ctx, mailKey) }

// Quarantined returns the e-mails that could not be sent, oldest first.
func (s *MailStream) Quarantined(ctx context.Context) ([]outbox.QuarantinedEmail, error) {
	return readQuarantine(ctx, &s.queue, parseQuarantinedMail)
}

func parseQuarantinedMail(m redis.XMessage) outbox.QuarantinedEmail {
	field := func(name string) string { return text(m.Values[name]) }
	d := outbox.QuarantinedEmail{
		ID: m.ID, Kind: outbox.EmailKind(field("kind")), Reason: field("reason"),
		Tries: int(number(field("deliveries"))), At: shop.Millis(number(field("at"))),
	}
	if mail, err := parseMail(m); err == nil {
		d.About, d.To = mail.About, mail.To
	}
	return d
}

func parseMail(m redis.XMessage) (outbox.Email, error) {
	var mail outbox.Email
	if err := json.Unmarshal([]byte(text(m.Values["body"])), &mail); err != nil {
		return mail, fmt.Errorf("%w: it has no e-mail", shop.ErrPermanent)
	}
	if mail.Kind == "" || mail.To == "" || string(mail.Kind) != text(m.Values["kind"]) {
		return mail, fmt.Errorf("%w: its e-mail has no kind or no address", shop.ErrPermanent)
	}
	return mail, nil
}
