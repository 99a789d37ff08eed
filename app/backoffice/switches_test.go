package backoffice

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
)

// A node follows the switches and publishes each banner once; the last values stay in force while the database is
// unreachable.
func TestSwitchboardAppliesChangesAndKeepsLastValues(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service := &SettingsService{Store: s}
	var banners []string
	changes := 0
	board := &Switchboard{
		Store: s, Clock: shop.NewClock(), OnBanner: func(n shop.Notice) { banners = append(banners, n.Text) },
		OnChange: func() { changes++ },
	}
	read := func() {
		t.Helper()
		fakes.Must(t, board.RunOnce(ctx))
	}
	if now := board.Now(); !now.HTTPBuy || board.TickEvery() != 100*time.Millisecond {
		t.Errorf("before the first read: got %+v, want the defaults", now)
	}
	read()
	ms, off, work := 500, false, shop.ChallengeWork
	edited, err := service.EditSwitches(ctx, ada(), SwitchesEdit{TickMS: &ms, HTTPBuy: &off, LeastChallenge: &work})
	if err != nil || edited.Version != 1 || edited.Lists != ListsLive {
		t.Fatalf("edit: got %+v, %v; want version 1 and live lists", edited, err)
	}
	read()
	read()
	if now := board.Now(); now.HTTPBuy || board.TickEvery() != 500*time.Millisecond || changes != 1 {
		t.Errorf("got %d OnChange calls and %+v, want 1 call and the edit", changes, now)
	}
	_, err = service.EditSwitches(ctx, ada(), SwitchesEdit{HTTPBuy: &off})
	var conflict *shop.Error
	if !errors.As(err, &conflict) || conflict.Code != shop.Conflict || conflict.Current.(Switches).Version != 1 {
		t.Errorf("an edit of an outdated version: got %v, want a conflict with version 1", err)
	}
	past := board.Clock.Now().Add(-time.Second)
	for _, n := range []NewNotice{
		{Level: "info", Text: "first"}, {Level: "warning", Text: "second"}, {Level: "info", Text: "over", Until: past},
	} {
		fakes.Must(t, fakes.ErrOf(service.PublishBanner(ctx, ada(), n)))
		read()
		read()
	}
	if _, active := board.CurrentBanner(); active || !slices.Equal(banners, []string{"first", "second", "over"}) {
		t.Errorf("got the banners %v, current: %v; want first, second, over and no current banner", banners, active)
	}
	fakes.Must(t, fakes.ErrOf(service.PublishBanner(ctx, ada(), NewNotice{Level: "info", Text: "third"})))
	read()
	if n, active := board.CurrentBanner(); !active || n.Text != "third" {
		t.Errorf("current banner: got %+v, %v; want third", n, active)
	}
	fakes.Must(t, fakes.ErrOf(service.RemoveBanner(ctx, ada())))
	read()
	if last := banners[len(banners)-1]; last != "" {
		t.Errorf("after the removal: got the text %q, want an empty one", last)
	}
	for _, n := range []NewNotice{
		{Text: "x"},
		{Level: "loud", Text: "x"},
		{Level: "info"},
		{Level: "info", Text: "a\x00b"},
		{Level: "info", Text: "x", Lang: "ZH"},
		{Level: "info", Text: "x", Lang: "z"},
		{Level: "info", Text: "x", Lang: "zh-cn"},
	} {
		if _, err := service.PublishBanner(ctx, ada(), n); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
			t.Errorf("%+v: got %v, want bad_request", n, err)
		}
	}
	fakes.Must(t, s.Close())
	if err := board.RunOnce(ctx); err == nil {
		t.Errorf("with an unreachable database: got %v, want an error", err)
	}
	if _, active := board.CurrentBanner(); active || board.Now().HTTPBuy {
		t.Error("the last values are not in force")
	}
}

// Translations are added to the current banner. A banner without a language, or one after the end, starts a new banner.
func TestTranslationsExtendTheCurrentBanner(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service := &SettingsService{Store: s}
	past, ahead := shop.MillisOf(time.Now().Add(-time.Second)), shop.MillisOf(time.Now().Add(time.Hour))
	for _, step := range []struct {
		input        NewNotice
		text         string
		translations map[string]string
	}{
		{NewNotice{Level: "info", Text: "中午", Lang: "zh"}, "", map[string]string{"zh": "中午"}},
		{NewNotice{Level: "info", Text: "at noon"}, "at noon", nil},
		{NewNotice{Level: "info", Text: "中午", Lang: "zh"}, "at noon", map[string]string{"zh": "中午"}},
		{
			NewNotice{Level: "warning", Text: "um zwölf", Lang: "de", Until: ahead},
			"at noon",
			map[string]string{"zh": "中午", "de": "um zwölf"},
		},
		{
			NewNotice{Level: "info", Text: "十二点", Lang: "zh", Until: past},
			"at noon",
			map[string]string{"zh": "十二点", "de": "um zwölf"},
		},
		{NewNotice{Level: "info", Text: "一点", Lang: "zh"}, "", map[string]string{"zh": "一点"}},
		{NewNotice{Level: "info", Text: "at one"}, "at one", nil},
	} {
		n, err := service.PublishBanner(ctx, ada(), step.input)
		if err != nil || n.Text != step.text || !maps.Equal(n.Texts, step.translations) ||
			n.Level != step.input.Level ||
			n.Until != step.input.Until {
			t.Errorf("published %+v: got %+v, %v; want the text %q and the translations %v", step.input, n, err, step.text, step.translations)
		}
	}
	for n := range maxLangs + 1 {
		lang := string([]byte{'a', 'a' + byte(n)})
		_, err := service.PublishBanner(ctx, ada(), NewNotice{Level: "info", Text: "x", Lang: lang})
		if full := errors.Is(err, &shop.Error{Code: shop.BadRequest}); full != (n == maxLangs) || err != nil && !full {
			t.Errorf("language %d: got %v, want bad_request only above %d languages", n+1, err, maxLangs)
		}
	}
	if _, err := service.RemoveBanner(ctx, ada()); err != nil {
		t.Error(err)
	}
	if _, err := service.RemoveBanner(ctx, ada()); !errors.Is(err, &shop.Error{Code: shop.WrongState}) {
		t.Errorf("remove a missing banner: got %v, want wrong_state", err)
	}
}
