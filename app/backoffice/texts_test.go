package backoffice

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
)

// A node serves the edited texts without those that are empty, and the last texts while the database is unreachable.
func TestTextBoardServesEditedTexts(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service, board := &SettingsService{Store: s}, &TextBoard{Store: s}
	edit := func(name, lang, text string, version int64) error {
		return fakes.ErrOf(service.EditText(ctx, ada(), PageTextEdit{PageText: PageText{name, lang, text, version}}))
	}
	want := func(want PageTexts) {
		t.Helper()
		if diff := cmp.Diff(want, board.Now()); diff != "" {
			t.Errorf("texts (-want +got):\n%s", diff)
		}
	}
	want(PageTexts{})
	fakes.Must(t, edit("contact", "en", "Call us.\n\nOr write.", 0))
	fakes.Must(t, edit("contact", "zh", "请来电。", 0))
	fakes.Must(t, edit("terms", "en", "Terms.", 0))
	fakes.Must(t, edit("terms", "en", "", 1))
	fakes.Must(t, board.RunOnce(ctx))
	want(PageTexts{"contact": {"en": "Call us.\n\nOr write.", "zh": "请来电。"}})

	var conflict *shop.Error
	err := edit("terms", "en", "Other terms.", 1)
	if !errors.As(err, &conflict) || conflict.Code != shop.Conflict || conflict.Current.(PageText).Version != 2 {
		t.Errorf("an edit of an outdated version: got %v, want a conflict with version 2", err)
	}
	fakes.Must(t, s.Close())
	if err := board.RunOnce(ctx); err == nil {
		t.Error("a read of a closed database succeeds")
	}
	want(PageTexts{"contact": {"en": "Call us.\n\nOr write.", "zh": "请来电。"}})
}

// A text of the maximum length in Chinese fits in the database; longer and invalid texts are rejected.
func TestTextsAreLimited(t *testing.T) {
	t.Parallel()
	s, ctx := kit.SQLite(t), kit.Context(t)
	service := &SettingsService{Store: s}
	for _, c := range []struct{ text, part string }{
		{strings.Repeat("字", 20_001), "the limit is 20000"},
		{strings.Repeat("😀", 20_000), "at most 65535 bytes"},
		{"a\x00b", "printable"},
		{strings.Repeat("字", 20_000), ""},
	} {
		_, err := service.EditText(ctx, ada(), PageTextEdit{PageText: PageText{Name: "privacy", Lang: "zh", Text: c.text}})
		if c.part == "" && err != nil || c.part != "" && (err == nil || !strings.Contains(err.Error(), c.part)) {
			t.Errorf("a text of %d bytes: got %v, want %q", len(c.text), err, c.part)
		}
	}
}
