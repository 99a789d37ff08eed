package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	// mailPlaces is how many new letters are under way to the mail server at the same time, oldMailPlaces how many that
	// were not sent the first time.
	mailPlaces, oldMailPlaces = 3, 1
	// firstMailPause is how long after the first try began the next one may begin, here or elsewhere; it is longer than
	// a try takes, so that nobody sends a letter that is being sent. It doubles with each try.
	firstMailPause = 30 * time.Second
	// mailTries is how often a letter is tried on its own account: the last time about an hour after the first.
	mailTries = 8
	// mailLook is how long after a turn over all unsent letters the next one begins.
	mailLook = 3 * time.Second
	// mailServerAway is the shortest pause of a mail server that takes nothing.
	mailServerAway = 5 * time.Second
	// mailPage is how many pending letters are looked at in one go.
	mailPage = 64
)

// MailDeliverer sends the letters of the stream:
//
//	sent                   acknowledged and deleted
//	app.ErrLetterRefused   a dead letter at once
//	app.PauseError         about the mail server: the letter comes again without being counted, and until then one at a
//	                       time is tried
//	anything else          counted; tried again after a pause that doubles, and a dead letter after mailTries
//
// A try counts from its beginning: one that killed its process is one. Any number of nodes may share the work. A node
// that dies between the sending and the acknowledgement has the letter sent twice, under the same Message-ID.
type MailDeliverer struct {
	stream     *MailStream
	blocking   redis.UniversalClient
	consumer   string
	deliver    func(ctx context.Context, l app.Letter, posted app.Millis) error
	firstPause time.Duration
	look       time.Duration
	block      time.Duration
	newPace    pace
	oldPace    pace
	seen       string // where the next look at unsent letters goes on
	sent       atomic.Int64
	dead       atomic.Int64
	unsent     atomic.Int64
}

// NewMailDeliverer makes a deliverer. deliver must end by itself, within firstMailPause; it hears when the letter was
// posted.
func NewMailDeliverer(
	client, blocking redis.UniversalClient, consumer string,
	deliver func(ctx context.Context, l app.Letter, posted app.Millis) error,
) *MailDeliverer {
	return &MailDeliverer{
		stream: NewMailStream(client), blocking: blocking, consumer: consumer, deliver: deliver,
		firstPause: firstMailPause, look: mailLook, block: paidBlock,
		newPace: pace{shortest: mailServerAway}, oldPace: pace{shortest: mailServerAway}, seen: "-",
	}
}

// Counts tell how many tries ended with the letter sent, dead, and neither.
func (d *MailDeliverer) Counts() (sent, dead, unsent int64) {
	return d.sent.Load(), d.dead.Load(), d.unsent.Load()
}

// Run sends until ctx ends.
func (d *MailDeliverer) Run(ctx context.Context) error {
	const from = "the letters to be sent"
	begin := func(p *pace) func(m redis.XMessage) func() {
		return func(m redis.XMessage) func() { return func() { d.handOver(ctx, p, m) } }
	}
	var couriers sync.WaitGroup
	for _, c := range []courier{
		{pace: &d.newPace, places: mailPlaces, from: from, read: d.fresh, begin: begin(&d.newPace)},
		{pace: &d.oldPace, places: oldMailPlaces, from: from, read: d.unsentOnes, begin: begin(&d.oldPace)},
	} {
		couriers.Go(func() { c.run(ctx) })
	}
	couriers.Wait()
	return ctx.Err()
}

// fresh reads letters that nobody has tried, and waits for them a moment. Without a group it makes one.
func (d *MailDeliverer) fresh(ctx context.Context, most int) ([]redis.XMessage, error) {
	found, err := d.blocking.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: mailGroup, Consumer: d.consumer, Streams: []string{mailKey, ">"}, Count: int64(most), Block: d.block,
	}).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case noGroup(err):
		return nil, makeGroup(ctx, d.stream.client, mailKey, mailGroup)
	case err != nil:
		return nil, fmt.Errorf("read letters: %w", transient(err))
	}
	return found[0].Messages, nil
}

// unsentOnes takes over letters whose next try is due. It goes on where the last look has stopped, so that those that
// wait hide nobody, and rests when it has seen all.
func (d *MailDeliverer) unsentOnes(ctx context.Context, most int) ([]redis.XMessage, error) {
	pending, err := d.stream.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: mailKey, Group: mailGroup, Idle: d.firstPause, Start: d.seen, End: "+", Count: mailPage,
	}).Result()
	if err != nil && !noGroup(err) {
		return nil, fmt.Errorf("look for unsent letters: %w", transient(err))
	}
	for _, p := range pending {
		d.seen = behind(p.ID)
		pause := d.pauseAfter(p.RetryCount)
		if p.Idle < pause {
			continue
		}
		// Redis checks the idle time once more: of two who claim at once, one gets the letter.
		mine, err := d.stream.client.XClaim(ctx, &redis.XClaimArgs{
			Stream: mailKey, Group: mailGroup, Consumer: d.consumer, MinIdle: pause, Messages: []string{p.ID},
		}).Result()
		if err != nil {
			return nil, fmt.Errorf("claim unsent letter %s: %w", p.ID, transient(err))
		}
		if len(mine) > 0 {
			return mine[:min(len(mine), most)], nil
		}
	}
	if len(pending) < mailPage {
		d.seen = "-"
		app.Sleep(ctx, d.look)
	}
	return nil, nil
}

// behind is the first id after one; the embedded Redis knows no other way to say that in XPENDING.
func behind(id string) string {
	at, _ := entryID(id)
	return fmt.Sprintf("%d-%d", at.Time, at.Number+1)
}

// pauseAfter is the time between the beginning of a try, counted from 1, and the next one.
func (d *MailDeliverer) pauseAfter(tries int64) time.Duration {
	return d.firstPause << max(0, min(tries, mailTries)-1)
}

// handOver tries one letter and notes what became of it.
func (d *MailDeliverer) handOver(ctx context.Context, p *pace, m redis.XMessage) {
	ctx, done := finishing(ctx) // a letter that is being sent would be sent twice
	defer done()
	began := time.Now()
	letter, err := parseMail(m)
	unreadable := err
	if err == nil {
		posted, _ := entryID(m.ID)
		err = d.deliver(ctx, letter, app.Millis(posted.Time))
	}
	var asked *app.PauseError
	switch {
	case err == nil:
		p.answered()
		if err = d.stream.sent(ctx, m.ID); err == nil {
			d.sent.Add(1)
		}
	case unreadable != nil, errors.Is(err, app.ErrLetterRefused):
		p.answered()
		err = d.bury(ctx, m.ID, letter.Kind, err)
	case errors.As(err, &asked):
		d.unsent.Add(1)
		d.newPace.pause(asked.After)
		d.oldPace.pause(asked.After)
		err = errors.Join(err, d.uncount(ctx, m.ID))
	case ctx.Err() != nil: // this node ends; the try counts, for nobody knows how far it got
	default:
		d.unsent.Add(1)
		p.failed(began)
		err = d.failed(ctx, m.ID, letter.Kind, err)
	}
	if err != nil && ctx.Err() == nil {
		slog.WarnContext(ctx, "a letter is not sent yet; it comes again", "letter", m.ID, "kind", letter.Kind, "err", err)
	}
}

// failed keeps a letter for its next try, or buries it after the last one.
func (d *MailDeliverer) failed(ctx context.Context, id string, kind app.LetterKind, why error) error {
	tries, err := d.tries(ctx, id)
	if err != nil {
		return errors.Join(why, err)
	}
	if tries < mailTries {
		return why
	}
	return d.bury(ctx, id, kind, why)
}

// bury makes a dead letter of it.
func (d *MailDeliverer) bury(ctx context.Context, id string, kind app.LetterKind, why error) error {
	parked, err := d.stream.park(ctx, id, why.Error())
	if err != nil {
		return errors.Join(why, err)
	}
	if parked {
		d.dead.Add(1)
		slog.ErrorContext(ctx, "a letter cannot be sent; `stampede mail list` shows it", "letter", id, "kind", kind,
			"err", why)
	}
	return nil
}

// tries is how often the letter was begun.
func (d *MailDeliverer) tries(ctx context.Context, id string) (int64, error) {
	found, err := d.stream.client.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: mailKey, Group: mailGroup, Start: id, End: id, Count: 1,
	}).Result()
	if err != nil {
		return 0, fmt.Errorf("count the tries of letter %s: %w", id, transient(err))
	}
	if len(found) == 0 { // another node has settled it meanwhile
		return 0, nil
	}
	return found[0].RetryCount, nil
}

// uncount takes a try back that was about the mail server: the letter waits as after its first one. A failure counts
// the try, no more.
func (d *MailDeliverer) uncount(ctx context.Context, id string) error {
	tries, err := d.tries(ctx, id)
	if err != nil || tries == 0 {
		return err
	}
	err = d.stream.client.Do(ctx, "XCLAIM", mailKey, mailGroup, d.consumer, 0, id,
		"RETRYCOUNT", tries-1, "JUSTID").Err()
	if err != nil {
		return fmt.Errorf("take a try of letter %s back: %w", id, transient(err))
	}
	return nil
}
