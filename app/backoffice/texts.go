package backoffice

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// TextNames are the texts in the footer of the page; TextLangs are the languages of the page.
var (
	TextNames = []string{"contact", "terms", "privacy"}
	TextLangs = []string{"en", "zh"}
)

const (
	// maxPageText limits a text, in characters.
	maxPageText = 20_000
	// maxDocument is the size of a stored document, in bytes.
	maxDocument = 1<<16 - 1
	// textsEvery is the interval at which a node reads the texts.
	textsEvery = 5 * time.Second
)

// PageText is a text of the page in one language. It is plain text; empty lines separate paragraphs.
type PageText struct {
	Name    string `json:"name"`
	Lang    string `json:"lang"`
	Text    string `json:"text"`    // empty: the page does not offer it
	Version int64  `json:"version"` // 0: never set
}

// PageTextEdit is an edit of a text. An empty text removes it.
type PageTextEdit struct {
	PageText

	Note string `json:"note"`
}

// PageTexts contains the texts that are set, by name and language.
type PageTexts map[string]map[string]string

// TextDocument returns the name of the document with a text. Each text has its own document, so that all texts may
// have the maximum length.
func TextDocument(name, lang string) string { return "text." + name + "." + lang }

// readTexts reads all texts, also those that were never set.
func readTexts(ctx context.Context, from *store.Store) ([]PageText, error) {
	var texts []PageText
	var names []string
	for _, name := range TextNames {
		for _, lang := range TextLangs {
			texts = append(texts, PageText{Name: name, Lang: lang})
			names = append(names, TextDocument(name, lang))
		}
	}
	documents, err := from.Documents(ctx, names...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := readDocument(documents[name], &texts[i]); err != nil {
			return nil, err
		}
		texts[i].Version = documents[name].Version
	}
	return texts, nil
}

// Texts reads all texts, also those that were never set.
func (d *SettingsService) Texts(ctx context.Context) ([]PageText, error) {
	texts, err := readTexts(ctx, d.Store)
	return texts, shop.Unavailable("the texts of the page", err)
}

// EditText replaces a text. Conflict: the text has another version.
func (d *SettingsService) EditText(ctx context.Context, actor journal.Actor, e PageTextEdit) (PageText, error) {
	if err := e.check(); err != nil {
		return PageText{}, err
	}
	return store.RunOperationFor[PageText](ctx, d.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		texts, err := readTexts(ctx, tx)
		if err != nil {
			return journal.Operation{}, err
		}
		before := texts[slices.IndexFunc(texts, func(t PageText) bool { return t.Name == e.Name && t.Lang == e.Lang })]
		if e.Version != before.Version {
			return journal.Operation{}, journal.Changed("the text", before)
		}
		after := e.PageText
		after.Version++
		body, err := json.Marshal(after)
		if err == nil && len(body) > maxDocument {
			err = shop.Failf(shop.BadRequest, "text must have at most %d bytes", maxDocument)
		}
		if err == nil {
			err = tx.SaveDocument(ctx, TextDocument(e.Name, e.Lang), before.Version, string(body))
		}
		return journal.Operation{
			Kind: "text.edit", Object: "text:" + e.Name + ":" + e.Lang, Before: before, After: after, Note: e.Note, Result: after,
		}, err
	})
}

// check validates the input.
func (e *PageTextEdit) check() error {
	switch {
	case !slices.Contains(TextNames, e.Name):
		return shop.Fail(shop.BadRequest, "name must be contact, terms or privacy")
	case !slices.Contains(TextLangs, e.Lang):
		return shop.Fail(shop.BadRequest, "lang must be en or zh")
	}
	if err := checkText("text", e.Text, maxPageText, false, true); err != nil {
		return err
	}
	return journal.CheckNote(e.Note)
}

// TextBoard is a node's copy of the texts of the page. While the database is unreachable, the last texts stay.
type TextBoard struct {
	Store *store.Store

	texts atomic.Pointer[PageTexts]
}

// Now returns the texts that are set.
func (b *TextBoard) Now() PageTexts {
	if texts := b.texts.Load(); texts != nil {
		return *texts
	}
	return PageTexts{}
}

// Run refreshes the copy until ctx ends.
func (b *TextBoard) Run(ctx context.Context) error {
	return shop.Repeat(ctx, textsEvery, "read the texts of the page", b.RunOnce)
}

// RunOnce reads the texts.
func (b *TextBoard) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, switchesTimeout)
	defer cancel()
	all, err := readTexts(ctx, b.Store)
	if err != nil {
		return err
	}
	texts := PageTexts{}
	for _, t := range all {
		if t.Text == "" {
			continue
		}
		if texts[t.Name] == nil {
			texts[t.Name] = map[string]string{}
		}
		texts[t.Name][t.Lang] = t.Text
	}
	b.texts.Store(&texts)
	return nil
}
