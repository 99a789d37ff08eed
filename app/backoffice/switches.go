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

// Lists is the way in which list requests of buyers over HTTP are served.
type Lists string

const (
	ListsLive   Lists = "live"
	ListsCached Lists = "cached" // from a cache, for a few seconds
)

// Switches reduce the load of the shop step by step while it continues to sell. All nodes apply changed switches within
// a second.
type Switches struct {
	TickMS         int            `json:"tick_ms"`         // interval of ticks, 100–2000
	HTTPBuy        bool           `json:"http_buy"`        // buys over HTTP are accepted
	LeastChallenge shop.Challenge `json:"least_challenge"` // minimum challenge of every sale
	Lists          Lists          `json:"lists"`
	WorkBits       int            `json:"work_bits"` // difficulty of a proof of work
	Version        int64          `json:"version"`
}

// normalSwitches returns the defaults.
func normalSwitches() Switches {
	return Switches{
		TickMS: minTickMS, HTTPBuy: true, LeastChallenge: shop.ChallengeNone, Lists: ListsLive,
		WorkBits: admission.DefaultWorkBits,
	}
}

const (
	minTickMS = 100
	maxTickMS = 2000
)

func (s *Switches) check() error {
	switch {
	case s.TickMS < minTickMS || s.TickMS > maxTickMS:
		return shop.Failf(shop.BadRequest, "tick_ms must be from %d to %d", minTickMS, maxTickMS)
	case s.Lists != ListsLive && s.Lists != ListsCached:
		return shop.Fail(shop.BadRequest, "lists must be live or cached")
	case s.WorkBits < admission.MinWorkBits || s.WorkBits > admission.MaxWorkBits:
		return shop.Failf(shop.BadRequest, "work_bits must be from %d to %d", admission.MinWorkBits, admission.MaxWorkBits)
	}
	_, err := shop.ParseChallenge(string(s.LeastChallenge))
	return err
}

// SwitchesEdit is an edit of the switches; nil fields stay unchanged.
type SwitchesEdit struct {
	Version        int64           `json:"version"`
	Note           string          `json:"note"`
	TickMS         *int            `json:"tick_ms"`
	HTTPBuy        *bool           `json:"http_buy"`
	LeastChallenge *shop.Challenge `json:"least_challenge"`
	Lists          *Lists          `json:"lists"`
	WorkBits       *int            `json:"work_bits"`
}

// NewNotice is an operator's input for a banner. Without a language it starts a new banner; with one it adds a
// translation to the current banner.
type NewNotice struct {
	Level string      `json:"level"`
	Text  string      `json:"text"`
	Lang  string      `json:"lang"` // ISO 639, like zh
	Until shop.Millis `json:"until"`
}

// maxLangs limits the languages of a banner.
const maxLangs = 8

// check validates the input.
func (n *NewNotice) check() error {
	switch {
	case n.Level != "info" && n.Level != "warning":
		return shop.Fail(shop.BadRequest, "level must be info or warning")
	case n.Text == "":
		return shop.Fail(shop.BadRequest, "text is missing")
	case n.Lang != "" && !isLang(n.Lang):
		return shop.Fail(shop.BadRequest, "lang must be two or three lowercase letters, like zh")
	}
	if err := journal.CheckNote(n.Text); err != nil {
		return shop.Failf(shop.BadRequest, "text must be printable and have at most %d characters", journal.MaxNote)
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

// after returns the banner that results from this input and the previous banner. Level and end come from the input.
func (n *NewNotice) after(before shop.Notice, now shop.Millis) (shop.Notice, error) {
	after := shop.Notice{Level: n.Level, Text: n.Text, Until: n.Until}
	if n.Lang == "" {
		return after, nil
	}
	after.Text, after.Texts = "", map[string]string{}
	if before.VisibleAt(now) {
		after.Text = before.Text
		maps.Copy(after.Texts, before.Texts)
	}
	after.Texts[n.Lang] = n.Text
	if len(after.Texts) > maxLangs {
		return after, shop.Failf(shop.BadRequest, "a notice can have at most %d languages", maxLangs)
	}
	return after, nil
}

const (
	settingsDocument = "switches"
	bannerDocument   = "notice"
)

// SettingsService reads and changes the switches, the banner and the texts of the page for operators.
type SettingsService struct {
	Store *store.Store
}

// Switches reads the current switches.
func (ss *SettingsService) Switches(ctx context.Context) (Switches, error) {
	s, err := readSwitches(ctx, ss.Store)
	return s, shop.Unavailable("the switches", err)
}

func readSwitches(ctx context.Context, from *store.Store) (Switches, error) {
	s := normalSwitches()
	all, err := from.Settings().Documents(ctx, settingsDocument)
	if err != nil {
		return s, err
	}
	bits, err := from.Settings().WorkBits(ctx)
	if err != nil {
		return s, err
	}
	if err := readDocument(all[settingsDocument], &s); err != nil {
		return s, err
	}
	s.WorkBits = cmp.Or(bits, admission.DefaultWorkBits)
	s.Version = all[settingsDocument].Version
	return s, nil
}

// readDocument decodes a stored document into v; if it was never stored, v stays unchanged.
func readDocument(document store.Document, v any) error {
	if document.Version == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(document.Body), v); err != nil {
		return fmt.Errorf("decode the stored document: %w", errors.Join(shop.ErrPermanent, err))
	}
	return nil
}

// EditSwitches applies an edit. Conflict: the switches have another version.
func (ss *SettingsService) EditSwitches(ctx context.Context, actor journal.Actor, e SwitchesEdit) (Switches, error) {
	if err := journal.CheckNote(e.Note); err != nil {
		return Switches{}, err
	}
	return store.RunOperationFor[Switches](ctx, ss.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		before, err := readSwitches(ctx, tx)
		if err != nil {
			return journal.Operation{}, err
		}
		after, err := e.apply(before)
		if err != nil {
			return journal.Operation{}, err
		}
		body, err := json.Marshal(after)
		if err == nil {
			err = tx.Settings().SaveDocument(ctx, settingsDocument, before.Version, string(body))
		}
		if err == nil && after.WorkBits != before.WorkBits {
			err = tx.Settings().SetWorkBits(ctx, after.WorkBits)
		}
		return journal.Operation{Kind: "switches.edit", Object: "switches", Before: before, After: after, Note: e.Note, Result: after}, err
	})
}

// apply returns the switches after the edit.
func (e *SwitchesEdit) apply(s Switches) (Switches, error) {
	if e.Version != s.Version {
		return s, journal.Changed("the switches", s)
	}
	set(&s.TickMS, e.TickMS)
	set(&s.HTTPBuy, e.HTTPBuy)
	set(&s.LeastChallenge, e.LeastChallenge)
	set(&s.Lists, e.Lists)
	set(&s.WorkBits, e.WorkBits)
	s.Version++
	return s, s.check()
}

// CurrentBanner reads the current banner; nil: there is no banner.
func (ss *SettingsService) CurrentBanner(ctx context.Context, now shop.Millis) (*shop.Notice, error) {
	all, err := ss.Store.Settings().Documents(ctx, bannerDocument)
	if err != nil {
		return nil, shop.Unavailable("the notice", err)
	}
	var n shop.Notice
	if err := readDocument(all[bannerDocument], &n); err != nil || !n.VisibleAt(now) {
		return nil, err
	}
	return &n, nil
}

// PublishBanner publishes a banner to all clients, and to new clients until it ends. A translation extends the current
// banner; any other banner replaces it.
func (ss *SettingsService) PublishBanner(ctx context.Context, actor journal.Actor, n NewNotice) (shop.Notice, error) {
	if err := n.check(); err != nil {
		return shop.Notice{}, err
	}
	return ss.replaceBanner(ctx, actor, "notice.say", func(before shop.Notice) (shop.Notice, error) {
		return n.after(before, shop.MillisOf(time.Now()))
	})
}

// RemoveBanner ends the current banner.
func (ss *SettingsService) RemoveBanner(ctx context.Context, actor journal.Actor) (shop.Notice, error) {
	return ss.replaceBanner(ctx, actor, "notice.take_back", func(before shop.Notice) (shop.Notice, error) {
		if !before.HasText() {
			return shop.Notice{}, shop.Fail(shop.WrongState, "there is no current notice")
		}
		return shop.Notice{}, nil
	})
}

func (ss *SettingsService) replaceBanner(
	ctx context.Context, actor journal.Actor, kind string, change func(before shop.Notice) (shop.Notice, error),
) (shop.Notice, error) {
	return store.RunOperationFor[shop.Notice](ctx, ss.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		all, err := tx.Settings().Documents(ctx, bannerDocument)
		if err != nil {
			return journal.Operation{}, err
		}
		var before shop.Notice
		if err := readDocument(all[bannerDocument], &before); err != nil {
			return journal.Operation{}, err
		}
		after, err := change(before)
		if err != nil {
			return journal.Operation{}, err
		}
		after.Version = all[bannerDocument].Version + 1
		body, err := json.Marshal(after)
		if err == nil {
			err = tx.Settings().SaveDocument(ctx, bannerDocument, all[bannerDocument].Version, string(body))
		}
		return journal.Operation{Kind: kind, Object: "notice", Before: before, After: after, Result: after}, err
	})
}

const (
	// switchesEvery is the interval at which a node reads the switches.
	switchesEvery = 500 * time.Millisecond
	// switchesTimeout is the timeout of one read: a database that hangs must not delay the next read.
	switchesTimeout = 3 * time.Second
)

// Switchboard is a node's copy of the switches and the banner. It has the defaults before the first read. While the
// database is unreachable, the last values stay in force.
type Switchboard struct {
	Store *store.Store
	Clock *shop.Clock
	// OnBanner receives each new banner, and an empty one when the banner was removed. It may be nil.
	OnBanner func(n shop.Notice)
	// OnChange is called after the switches changed. It may be nil.
	OnChange func()

	switches atomic.Pointer[Switches]
	banner   atomic.Pointer[shop.Notice]
}

// Now returns the current switches.
func (sw *Switchboard) Now() Switches { return *cmp.Or(sw.switches.Load(), new(normalSwitches())) }

// TickEvery returns the interval of ticks.
func (sw *Switchboard) TickEvery() time.Duration {
	return time.Duration(sw.Now().TickMS) * time.Millisecond
}

// CurrentBanner returns the current banner; ok is false if there is no banner.
func (sw *Switchboard) CurrentBanner() (n shop.Notice, ok bool) {
	n = *cmp.Or(sw.banner.Load(), &shop.Notice{})
	return n, n.VisibleAt(sw.Clock.Now())
}

// Run refreshes the copy until ctx ends.
func (sw *Switchboard) Run(ctx context.Context) error {
	return shop.Repeat(ctx, switchesEvery, "read the switches", sw.RunOnce)
}

// RunOnce reads the switches and the banner, and calls the callbacks after a change.
func (sw *Switchboard) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, switchesTimeout)
	defer cancel()
	all, err := sw.Store.Settings().Documents(ctx, settingsDocument, bannerDocument)
	if err != nil {
		return err
	}
	before, s := sw.Now(), normalSwitches()
	if err := readDocument(all[settingsDocument], &s); err != nil {
		return err
	}
	s.Version = all[settingsDocument].Version
	sw.switches.Store(&s)
	if s.Version != before.Version && sw.OnChange != nil {
		sw.OnChange()
	}
	var n shop.Notice
	if err := readDocument(all[bannerDocument], &n); err != nil {
		return err
	}
	previous := cmp.Or(sw.banner.Swap(&n), &shop.Notice{})
	if previous.Version == n.Version || sw.OnBanner == nil {
		return nil
	}
	// A change between two expired banners is not published.
	if now := sw.Clock.Now(); n.VisibleAt(now) || previous.VisibleAt(now) {
		sw.OnBanner(n)
	}
	return nil
}
