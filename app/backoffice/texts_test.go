package backoffice

import (
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
)

// A node serves the edited texts without those that are empty or damaged, and the last texts while the database is
// unreachable.
func TestTextBoardServesEditedTexts(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service, board := &SettingsService{Store: s}, &TextBoard{Store: s}
	edit := func(name, lang, text string, version int64) error {
		return fakes.ErrOf(service.EditText(ctx, ada(), PageText{name, lang, text, version}))
	}
	want := func(list, chinese string) {
		t.Helper()
		got := board.Now()
		if string(got.List) != list || string(got.Texts["contact"]["zh"]) != chinese {
			t.Errorf("got the list %s and the text %s, want %s and %s", got.List, got.Texts["contact"]["zh"], list, chinese)
		}
	}
	want(`{"texts":{}}`, "")
	fakes.Must(t, edit("contact", "en", "Call us.\n\nOr write.", 0))
	fakes.Must(t, edit("contact", "zh", "\uFEFF\n请来电。\n", 0))
	fakes.Must(t, edit("terms", "en", "Terms.", 0))
	fakes.Must(t, edit("terms", "en", "", 1))
	fakes.Must(t, board.RunOnce(ctx))
	want(`{"texts":{"contact":["en","zh"]}}`, `{"lang":"zh","text":"请来电。"}`)

	var conflict *shop.Error
	err := edit("terms", "en", "Other terms.", 1)
	if !errors.As(err, &conflict) || conflict.Code != shop.Conflict || conflict.Current.(PageText).Version != 2 {
		t.Errorf("an edit of an outdated version: got %v, want a conflict with version 2", err)
	}

	fakes.Must(t, s.Settings().SaveDocument(ctx, TextDocument("privacy", "en"), 0, "damaged"))
	fakes.Must(t, edit("contact", "en", "", 1))
	fakes.Must(t, board.RunOnce(ctx))
	want(`{"texts":{"contact":["zh"]}}`, `{"lang":"zh","text":"请来电。"}`)
	fakes.Must(t, s.Close())
	if err := board.RunOnce(ctx); err == nil {
		t.Error("a read of a closed database succeeds")
	}
	want(`{"texts":{"contact":["zh"]}}`, `{"lang":"zh","text":"请来电。"}`)
}

// A text of the maximum length in Chinese fits in the database; longer and invalid texts are rejected.
func TestTextsAreLimited(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service := &SettingsService{Store: s}
	for _, c := range []struct{ text, part string }{
		{strings.Repeat("字", 20_001), "the limit is 20000"},
		{strings.Repeat("😀", 20_000), "too long to be stored: shorten it"},
		{"a\x00b", "printable"},
		{strings.Repeat("字", 20_000), ""},
	} {
		_, err := service.EditText(ctx, ada(), PageText{Name: "privacy", Lang: "zh", Text: c.text})
		if c.part == "" && err != nil || c.part != "" && (err == nil || !strings.Contains(err.Error(), c.part)) {
			t.Errorf("a text of %d bytes: got %v, want %q", len(c.text), err, c.part)
		}
	}
}
