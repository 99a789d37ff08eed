package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/test/kit"
)

// aLetter is a new one.
func aLetter() app.Letter {
	return app.Letter{
		Kind: app.LetterReset, About: newID().String(), To: "ada@mail.example", Lang: "en", Link: "https://shop.example/?reset=k",
	}
}

// postman sends the letters of a stream the way a node does, in quick succession, and answers as a test wants it to.
type postman struct {
	*MailDeliverer
	f      *fixture
	stream *MailStream
	answer func(ctx context.Context, l app.Letter, tries int) error

	mu    sync.Mutex
	tries map[string]int // by what the letter is about
	sent  []string
}

func newPostman(f *fixture, answer func(ctx context.Context, l app.Letter, tries int) error) *postman {
	p := &postman{f: f, stream: NewMailStream(f.client), answer: answer, tries: make(map[string]int)}
	p.MailDeliverer = p.node("one")
	return p
}

// node is one more process that shares the work.
func (p *postman) node(name string) *MailDeliverer {
	d := NewMailDeliverer(p.f.client, p.f.client, name, p.take)
	d.block, d.look, d.firstPause = 5*time.Millisecond, time.Millisecond, time.Minute
	d.newPace.shortest, d.oldPace.shortest = time.Millisecond, time.Millisecond
	return d
}

// start lets it work until the test ends.
func (p *postman) start(d *MailDeliverer) (stop func()) {
	ctx, cancel := context.WithCancel(p.f.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = d.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	p.f.t.Cleanup(stop)
	return stop
}

// turn does by hand what Run does: it tries what is new, and one letter whose next try is due.
func (p *postman) turn() {
	p.f.t.Helper()
	for _, read := range []func(context.Context, int) ([]redis.XMessage, error){p.fresh, p.unsentOnes} {
		entries, err := read(p.f.ctx, mailPlaces)
		p.f.must(err)
		for _, m := range entries {
			p.handOver(p.f.ctx, &p.newPace, m)
		}
	}
}

func (p *postman) take(ctx context.Context, l app.Letter, _ app.Millis) error {
	p.mu.Lock()
	p.tries[l.About]++
	tries := p.tries[l.About]
	p.mu.Unlock()
	err := p.answer(ctx, l, tries)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.sent = append(p.sent, l.About)
	}
	return err
}

func (p *postman) tried(l app.Letter) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries[l.About]
}

func (p *postman) sentOnes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// awaitEmpty waits until nothing is left to be sent, not even as a pending entry, and so many are dead.
func (p *postman) awaitEmpty(dead int) []app.DeadMail {
	p.f.t.Helper()
	var found []app.DeadMail
	p.f.must(makeGroup(p.f.ctx, p.f.client, mailKey, mailGroup))
	kit.Eventually(p.f.t, patience, func() (bool, string) {
		waiting, err := p.stream.Waiting(p.f.ctx)
		p.f.must(err)
		pending, err := p.f.client.XPending(p.f.ctx, mailKey, mailGroup).Result()
		p.f.must(err)
		found, err = p.stream.Dead(p.f.ctx)
		p.f.must(err)
		return waiting == 0 && pending.Count == 0 && len(found) == dead,
			fmt.Sprintf("%d wait, %d are pending, %d are dead", waiting, pending.Count, len(found))
	})
	return found
}

// What is posted is sent once and then gone, its link with it; a repeat of the posting, as after a lost reply, is no
// second letter, also when the first was sent long ago.
func TestLettersAreSentOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		p := newPostman(f, func(context.Context, app.Letter, int) error { return nil })
		one, two := aLetter(), aLetter()
		f.must(p.stream.Send(f.ctx, one, two))
		f.must(p.stream.Send(f.ctx, one))
		p.start(p.MailDeliverer)
		p.awaitEmpty(0)
		f.must(p.stream.Send(f.ctx, two))
		third := aLetter()
		f.must(p.stream.Send(f.ctx, third))
		kit.Eventually(t, patience, func() (bool, string) { return p.tried(third) > 0, "the third is not sent" })
		p.awaitEmpty(0)
		if got := p.sentOnes(); len(got) != 3 {
			t.Errorf("sent %v, want three", got)
		}
		if n, err := f.client.Exists(f.ctx, mailKey).Result(); err != nil || n != 1 {
			t.Errorf("the stream itself is gone: %d, %v", n, err)
		}
		if ttl := f.client.PTTL(f.ctx, mailMark(&one)).Val(); ttl <= orderWeek || ttl > mailOnce {
			t.Errorf("the letter is known for %v, want more than a week", ttl)
		}
	})
}

// orderWeek is how long orders are written about, see app.OrderMail.
const orderWeek = 7 * 24 * time.Hour

// A letter that fails on its own account is tried eight times with growing pauses and is dead then, with the last
// reason; others go on meanwhile. An operator has it sent again, or drops it.
func TestFailingLettersDie(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		bad, good := aLetter(), aLetter()
		mended := false
		p := newPostman(f, func(_ context.Context, l app.Letter, tries int) error {
			if l.About == bad.About && !mended {
				return fmt.Errorf("451 disk full %d", tries)
			}
			return nil
		})
		p.firstPause = time.Millisecond
		f.must(p.stream.Send(f.ctx, bad, good))
		kit.Eventually(t, patience, func() (bool, string) {
			p.turn()
			n, err := p.stream.CountDead(f.ctx)
			f.must(err)
			return n > 0, fmt.Sprintf("%d tries", p.tried(bad))
		})
		d := p.awaitEmpty(1)[0]
		if p.tried(bad) != mailTries || d.Tries != mailTries || d.To != bad.To || d.Kind != bad.Kind ||
			d.About != bad.About ||
			!strings.Contains(d.Reason, "disk full 8") || d.At == 0 {
			t.Errorf("after %d tries: %+v", p.tried(bad), d)
		}
		if got := p.sentOnes(); len(got) != 1 || got[0] != good.About {
			t.Errorf("sent %v", got)
		}
		mended = true
		f.must(p.stream.Retry(f.ctx, d.ID))
		p.turn()
		p.awaitEmpty(0)
		if got := p.sentOnes(); len(got) != 2 {
			t.Errorf("after the retry sent %v", got)
		}
		for _, id := range []string{d.ID, "x", ""} {
			if err := p.stream.Retry(f.ctx, id); !errors.Is(err, app.ErrNoRow) {
				t.Errorf("retry of %q: %v", id, err)
			}
			if there, err := p.stream.Drop(f.ctx, id); there || err != nil {
				t.Errorf("drop of %q: %v %v", id, there, err)
			}
		}
	})
}

// A no to one letter makes it dead at once, and so does an entry that nobody can read; both can be dropped.
func TestRefusedLettersDieAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		p := newPostman(f, func(context.Context, app.Letter, int) error {
			return fmt.Errorf("%w: 550 no such user", app.ErrLetterRefused)
		})
		l := aLetter()
		f.must(p.stream.Send(f.ctx, l))
		f.must(f.client.Do(f.ctx, "XADD", mailKey, "*", "kind", "reset", "letter", `{"Kind":"paid"}`).Err())
		f.must(f.client.Do(f.ctx, "XADD", mailKey, "*", "odd", "1").Err())
		p.start(p.MailDeliverer)
		dead := p.awaitEmpty(3)
		if p.tried(l) != 1 {
			t.Errorf("tried %d times", p.tried(l))
		}
		for _, d := range dead {
			if err := p.stream.Retry(f.ctx, d.ID); d.Kind == "" && !errors.Is(err, app.ErrPermanent) {
				t.Errorf("what has no letter is sent: %v", err)
			}
		}
		for _, d := range p.awaitEmpty(3) {
			if there, err := p.stream.Drop(f.ctx, d.ID); !there || err != nil {
				t.Errorf("drop of %s: %v %v", d.ID, there, err)
			}
		}
		p.awaitEmpty(0)
	})
}

// While the mail server is away, however long, no letter dies of it, and the server is not pressed: one try at a time.
// When it is back, all go out.
func TestAnAbsentServerKillsNoLetter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		letters := make([]app.Letter, 13)
		for i := range letters {
			letters[i] = aLetter()
		}
		var back, crowded atomic.Bool
		var under atomic.Int64
		p := newPostman(f, func(_ context.Context, l app.Letter, tries int) error {
			if back.Load() {
				return nil
			}
			isThis := func(o app.Letter) bool { return o.About == l.About }
			if tries == 1 && slices.ContainsFunc(letters[3:], isThis) { // posted when it had been away for a while
				if under.Add(1) > 1 {
					crowded.Store(true)
				}
				defer under.Add(-1)
			}
			time.Sleep(time.Millisecond) // so that two at once are seen
			return &app.PauseError{Err: errAway}
		})
		p.firstPause = time.Millisecond
		f.must(p.stream.Send(f.ctx, letters[:3]...))
		p.start(p.MailDeliverer)
		tried := func(l app.Letter, least int) func() (bool, string) {
			return func() (bool, string) {
				return p.tried(l) >= least, fmt.Sprintf("it was tried %d times, want %d", p.tried(l), least)
			}
		}
		kit.Eventually(t, patience, tried(letters[0], 2*mailTries+1))
		f.must(p.stream.Send(f.ctx, letters[3:]...))
		kit.Eventually(t, patience, tried(letters[len(letters)-1], 1))
		back.Store(true)
		if crowded.Load() {
			t.Error("several new letters at the same time at a server that is away")
		}
		p.awaitEmpty(0)
		for _, l := range letters {
			if !slices.Contains(p.sentOnes(), l.About) {
				t.Errorf("%s is not sent", l.About)
			}
		}
	})
}

// The last try comes about an hour after the first, and never while one is under way.
func TestPausesBetweenTries(t *testing.T) {
	t.Parallel()
	d := NewMailDeliverer(nil, nil, "one", nil)
	var sum time.Duration
	for tries := range int64(mailTries) {
		if pause := d.pauseAfter(tries); pause < 30*time.Second || pause > 33*time.Minute || tries > 1 &&
			pause != 2*d.pauseAfter(tries-1) {
			t.Errorf("%v after %d tries", pause, tries)
		}
		if tries > 0 {
			sum += d.pauseAfter(tries)
		}
	}
	if sum < time.Hour || sum > 70*time.Minute {
		t.Errorf("a letter is given up after %v", sum)
	}
}

// A node that dies between the sending and the acknowledgement leaves the letter to another, which sends it once more:
// the same letter with the same time of posting, so that its Message-ID and every byte of it are the same.
func TestADeadNodesLetterIsTheSameLetterAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		type sending struct {
			letter app.Letter
			posted app.Millis
		}
		p := newPostman(f, nil)
		f.must(p.stream.Send(f.ctx, aLetter()))
		// The first node: it has read the letter and sent it, and is gone before it could say so.
		var read []redis.XMessage
		for len(read) == 0 {
			var err error
			read, err = p.fresh(f.ctx, 1)
			f.must(err)
		}
		first, err := parseMail(read[0])
		f.must(err)
		at, _ := entryID(read[0].ID)
		sent := make(chan sending, 10)
		second := p.node("second")
		second.deliver = func(_ context.Context, l app.Letter, at app.Millis) error {
			sent <- sending{l, at}
			return nil
		}
		second.firstPause = 20 * time.Millisecond
		p.start(second)
		p.awaitEmpty(0)
		if got, want := <-sent, (sending{first, app.Millis(at.Time)}); got != want || at.Time == 0 || len(sent) != 0 {
			t.Errorf("sent %+v after %+v, and %d more", got, want, len(sent))
		}
	})
}

// Two nodes at the same letters send each once, and a node that is told to end finishes what it is sending.
func TestNodesShareLetters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		sending, goOn := make(chan struct{}), make(chan struct{})
		held := aLetter()
		p := newPostman(f, func(ctx context.Context, l app.Letter, _ int) error {
			if l.About == held.About {
				close(sending)
				<-goOn
				return ctx.Err()
			}
			return nil
		})
		f.must(p.stream.Send(f.ctx, held))
		stop := p.start(p.MailDeliverer)
		<-sending
		other := p.node("two")
		p.start(other)
		for range 40 {
			f.must(p.stream.Send(f.ctx, aLetter()))
		}
		kit.Eventually(t, patience, func() (bool, string) {
			return len(p.sentOnes()) == 40, fmt.Sprintf("%d are sent", len(p.sentOnes()))
		})
		go func() { time.Sleep(time.Millisecond); close(goOn) }() // after the stop has begun, or before: both must do
		stop()
		p.awaitEmpty(0)
		if got := p.sentOnes(); len(got) != 41 {
			t.Errorf("%d sent, want 41", len(got))
		}
	})
}

// Letters do not fill Redis: beyond the most that may wait nothing is taken over, and what is known already is fine.
func TestLettersAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewMailStream(f.client)
		s.most = 2
		one, two, three := aLetter(), aLetter(), aLetter()
		f.must(s.Send(f.ctx, one, two))
		if err := s.Send(f.ctx, three); !errors.Is(err, app.ErrTransient) || strings.Contains(err.Error(), three.To) {
			t.Errorf("a third: %v", err)
		}
		f.must(s.Send(f.ctx, one))
		if n, err := s.Waiting(f.ctx); n != 2 || err != nil {
			t.Errorf("%d wait, %v", n, err)
		}
	})
}
