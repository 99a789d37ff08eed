package backoffice

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"stampede/app/admission"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// Lists is how lists are answered to shoppers over HTTP.
type Lists string

const (
	ListsLive   Lists = "live"
	ListsCached Lists = "cached" // for a few seconds from what was answered last
)

// Switches take load off the shop, step by step, while it goes on selling. All nodes follow within a second.
type Switches struct {
	TickMS         int            `json:"tick_ms"`         // between two ticks, 100–2000
	HTTPBuy        bool           `json:"http_buy"`        // buys over HTTP are taken
	LeastChallenge shop.Challenge `json:"least_challenge"` // every sale asks for at least that
	Lists          Lists          `json:"lists"`
	WorkBits       int            `json:"work_bits"` // of a proof of work
	Version        int64          `json:"version"`
}

// normalSwitches are those of a shop that nobody has touched.
func normalSwitches() Switches {
	return Switches{
		TickMS: leastTickMS, HTTPBuy: true, LeastChallenge: shop.ChallengeNone, Lists: ListsLive,
		WorkBits: admission.DefaultWorkBits,
	}
}

const (
	leastTickMS = 100
	mostTickMS  = 2000
)

func (s *Switches) check() error {
	switch {
	case s.TickMS < leastTickMS || s.TickMS > mostTickMS:
		return shop.Failf(shop.BadRequest, "tick_ms must be from %d to %d", leastTickMS, mostTickMS)
	case s.Lists != ListsLive && s.Lists != ListsCached:
		return shop.Fail(shop.BadRequest, "lists must be live or cached")
	case s.WorkBits < admission.LeastWorkBits || s.WorkBits > admission.MostWorkBits:
		return shop.Failf(shop.BadRequest, "work_bits must be from %d to %d", admission.LeastWorkBits, admission.MostWorkBits)
	}
	_, err := shop.ParseChallenge(string(s.LeastChallenge))
	return err
}

// SwitchesEdit is what an operator changes; nil is left as it is.
type SwitchesEdit struct {
	Version        int64           `json:"version"`
	Note           string          `json:"note"`
	TickMS         *int            `json:"tick_ms"`
	HTTPBuy        *bool           `json:"http_buy"`
	LeastChallenge *shop.Challenge `json:"least_challenge"`
	Lists          *Lists          `json:"lists"`
	WorkBits       *int            `json:"work_bits"`
}

// NewNotice is what an operator says: without a language a new notice, with one the same notice in that language.
type NewNotice struct {
	Level string      `json:"level"`
	Text  string      `json:"text"`
	Lang  string      `json:"lang"` // like zh
	Until shop.Millis `json:"until"`
}

// mostLangs bounds in how many languages a notice can be.
const mostLangs = 8

// check says what is wrong with it.
func (n *NewNotice) check() error {
	switch {
	case n.Level != "info" && n.Level != "warning":
		return shop.Fail(shop.BadRequest, "level must be info or warning")
	case n.Text == "":
		return shop.Fail(shop.BadRequest, "text is missing")
	case n.Lang != "" && !isLang(n.Lang):
		return shop.Fail(shop.BadRequest, "lang must be two or three small letters, like zh")
	}
	if err := journal.CheckNote(n.Text); err != nil {
		return shop.Failf(shop.BadRequest, "text must be text of at most %d characters", journal.LongestNote)
	}
	return nil
}

func isLang(lang string) bool {
	for _, r := range lang {
		if r < 'a' || r > 'z' {
			return false
		}
	}
	return len(lang) == 2 || len(lang) == 3
}

// after makes the notice that stands when this is said to the one before. Level and end are those of the newest word.
func (n *NewNotice) after(before shop.Notice, now shop.Millis) (shop.Notice, error) {
	after := shop.Notice{Level: n.Level, Text: n.Text, Until: n.Until}
	if n.Lang == "" {
		return after, nil
	}
	after.Text, after.Texts = "", map[string]string{}
	if before.StandsAt(now) {
		after.Text = before.Text
		maps.Copy(after.Texts, before.Texts)
	}
	after.Texts[n.Lang] = n.Text
	if len(after.Texts) > mostLangs {
		return after, shop.Failf(shop.BadRequest, "a notice can be in %d languages at most", mostLangs)
	}
	return after, nil
}

const (
	keptSwitches = "switches"
	keptNotice   = "notice"
)

// SwitchDesk is where operators turn switches and tell everybody something.
type SwitchDesk struct {
	Store *store.Store
}

// Switches reads how they stand.
func (d *SwitchDesk) Switches(ctx context.Context) (Switches, error) {
	s, err := readSwitches(ctx, d.Store)
	return s, shop.Unreadable("the switches", err)
}

func readSwitches(ctx context.Context, from *store.Store) (Switches, error) {
	s := normalSwitches()
	all, err := from.Kept(ctx)
	if err != nil {
		return s, err
	}
	bits, err := from.WorkBits(ctx)
	if err != nil {
		return s, err
	}
	if err := readKept(all[keptSwitches], &s); err != nil {
		return s, err
	}
	s.WorkBits = cmp.Or(bits, admission.DefaultWorkBits)
	s.Version = all[keptSwitches].Version
	return s, nil
}

// readKept reads the document into what it replaces; one that was never kept changes nothing.
func readKept(k store.Kept, v any) error {
	if k.Version == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(k.Body), v); err != nil {
		return fmt.Errorf("read what is kept: %w", errors.Join(shop.ErrPermanent, err))
	}
	return nil
}

// EditSwitches turns some. Conflict: they are at another version.
func (d *SwitchDesk) EditSwitches(ctx context.Context, actor journal.Actor, e SwitchesEdit) (Switches, error) {
	if err := journal.CheckNote(e.Note); err != nil {
		return Switches{}, err
	}
	return store.ActFor[Switches](ctx, d.Store, actor, func(tx *store.Store) (journal.Act, error) {
		before, err := readSwitches(ctx, tx)
		if err != nil {
			return journal.Act{}, err
		}
		after, err := e.apply(before)
		if err != nil {
			return journal.Act{}, err
		}
		body, err := json.Marshal(after)
		if err == nil {
			err = tx.Keep(ctx, keptSwitches, before.Version, string(body))
		}
		if err == nil && after.WorkBits != before.WorkBits {
			err = tx.SetWorkBits(ctx, after.WorkBits)
		}
		return journal.Act{Kind: "switches.edit", Object: "switches", Before: before, After: after, Note: e.Note, Answer: after}, err
	})
}

// apply makes the switches of the edit.
func (e *SwitchesEdit) apply(s Switches) (Switches, error) {
	if e.Version != s.Version {
		return s, journal.Changed("how the switches stand", s)
	}
	set(&s.TickMS, e.TickMS)
	set(&s.HTTPBuy, e.HTTPBuy)
	set(&s.LeastChallenge, e.LeastChallenge)
	set(&s.Lists, e.Lists)
	set(&s.WorkBits, e.WorkBits)
	s.Version++
	return s, s.check()
}

// StandingNotice reads the notice; nil: there is none now.
func (d *SwitchDesk) StandingNotice(ctx context.Context, now shop.Millis) (*shop.Notice, error) {
	all, err := d.Store.Kept(ctx)
	if err != nil {
		return nil, shop.Unreadable("the notice", err)
	}
	var n shop.Notice
	if err := readKept(all[keptNotice], &n); err != nil || !n.StandsAt(now) {
		return nil, err
	}
	return &n, nil
}

// TellAll tells all shoppers something, now and whoever comes until it ends. The notice before it is over, unless this
// is the same one in another language.
func (d *SwitchDesk) TellAll(ctx context.Context, actor journal.Actor, n NewNotice) (shop.Notice, error) {
	if err := n.check(); err != nil {
		return shop.Notice{}, err
	}
	return d.replaceNotice(ctx, actor, "notice.say", func(before shop.Notice) (shop.Notice, error) {
		return n.after(before, shop.MillisOf(time.Now()))
	})
}

// TakeBack ends the notice: whoever comes is not told any more.
func (d *SwitchDesk) TakeBack(ctx context.Context, actor journal.Actor) (shop.Notice, error) {
	return d.replaceNotice(ctx, actor, "notice.take_back", func(before shop.Notice) (shop.Notice, error) {
		if !before.IsSaid() {
			return shop.Notice{}, shop.Fail(shop.WrongState, "there is no notice")
		}
		return shop.Notice{}, nil
	})
}

func (d *SwitchDesk) replaceNotice(
	ctx context.Context, actor journal.Actor, kind string, change func(before shop.Notice) (shop.Notice, error),
) (shop.Notice, error) {
	return store.ActFor[shop.Notice](ctx, d.Store, actor, func(tx *store.Store) (journal.Act, error) {
		all, err := tx.Kept(ctx)
		if err != nil {
			return journal.Act{}, err
		}
		var before shop.Notice
		if err := readKept(all[keptNotice], &before); err != nil {
			return journal.Act{}, err
		}
		after, err := change(before)
		if err != nil {
			return journal.Act{}, err
		}
		after.Version = all[keptNotice].Version + 1
		body, err := json.Marshal(after)
		if err == nil {
			err = tx.Keep(ctx, keptNotice, all[keptNotice].Version, string(body))
		}
		return journal.Act{Kind: kind, Object: "notice", Before: before, After: after, Answer: after}, err
	})
}

const (
	// switchesEvery is how often a node looks how the switches stand.
	switchesEvery = 500 * time.Millisecond
	// switchesWithin bounds one look, so that a database that stands still does not hold up the next one.
	switchesWithin = 3 * time.Second
)

// Switchboard is what a node knows of switches and notice: the normal ones before the first look, then the last seen
// ones, also while the database is away.
type Switchboard struct {
	Store *store.Store
	Clock *shop.Clock
	// Say gets each new notice, and one without a text when it was taken back; nil: nobody does.
	Say func(n shop.Notice)
	// OnChange is called after switches were turned; nil: nobody is.
	OnChange func()

	switches atomic.Pointer[Switches]
	notice   atomic.Pointer[shop.Notice]
}

// Now is how the switches stand.
func (b *Switchboard) Now() Switches { return *cmp.Or(b.switches.Load(), new(normalSwitches())) }

// TickEvery is the pause between two ticks.
func (b *Switchboard) TickEvery() time.Duration {
	return time.Duration(b.Now().TickMS) * time.Millisecond
}

// Standing is what whoever comes is told; ok is false for nothing.
func (b *Switchboard) Standing() (n shop.Notice, ok bool) {
	n = *cmp.Or(b.notice.Load(), &shop.Notice{})
	return n, n.StandsAt(b.Clock.Now())
}

// Run follows them until ctx ends.
func (b *Switchboard) Run(ctx context.Context) error {
	return shop.Repeat(ctx, switchesEvery, "look how the switches stand", b.RunOnce)
}

// RunOnce looks once.
func (b *Switchboard) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, switchesWithin)
	defer cancel()
	all, err := b.Store.Kept(ctx)
	if err != nil {
		return err
	}
	before, s := b.Now(), normalSwitches()
	if err := readKept(all[keptSwitches], &s); err != nil {
		return err
	}
	s.Version = all[keptSwitches].Version
	b.switches.Store(&s)
	if s.Version != before.Version && b.OnChange != nil {
		b.OnChange()
	}
	var n shop.Notice
	if err := readKept(all[keptNotice], &n); err != nil {
		return err
	}
	said := cmp.Or(b.notice.Swap(&n), &shop.Notice{})
	if said.Version == n.Version || b.Say == nil {
		return nil
	}
	// one that has ended is nothing to be told any more
	if now := b.Clock.Now(); n.StandsAt(now) || said.StandsAt(now) {
		b.Say(n)
	}
	return nil
}
