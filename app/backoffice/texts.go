package backoffice

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// textNames are the texts in the footer of the page.
var textNames = []string{"contact", "terms", "privacy"}

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

// TextDocument returns the name of the document with a text. Each text has its own document, so that all texts may
// have the maximum length.
func TextDocument(name, lang string) string { return "text." + name + "." + lang }

// readTexts reads all texts, also those that were never set. A text that cannot be decoded is logged and empty.
func readTexts(ctx context.Context, from *store.Store) ([]PageText, error) {
	var texts []PageText
	var names []string
	for _, name := range textNames {
		for _, lang := range shop.Langs {
			texts = append(texts, PageText{Name: name, Lang: lang})
			names = append(names, TextDocument(name, lang))
		}
	}
	documents, err := from.Settings().Documents(ctx, names...)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		var stored PageText
		if err := readDocument(documents[name], &stored); err != nil {
			slog.ErrorContext(ctx, "a text of the page is damaged", "document", name, "err", err)
			stored.Text = ""
		}
		texts[i].Text, texts[i].Version = stored.Text, documents[name].Version
	}
	return texts, nil
}

// Texts reads all texts, also those that were never set.
func (ss *SettingsService) Texts(ctx context.Context) ([]PageText, error) {
	texts, err := readTexts(ctx, ss.Store)
	return texts, shop.Unavailable("the texts of the page", err)
}

// EditText replaces a text; an empty one removes it. Conflict: the text has another version.
func (ss *SettingsService) EditText(ctx context.Context, actor journal.Actor, e PageText) (PageText, error) {
	e.Text = strings.TrimSpace(strings.TrimPrefix(e.Text, "\uFEFF")) // files may start with a byte order mark
	if err := e.check(); err != nil {
		return PageText{}, err
	}
	return store.RunOperationFor[PageText](ctx, ss.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		texts, err := readTexts(ctx, tx)
		if err != nil {
			return journal.Operation{}, err
		}
		before := texts[slices.IndexFunc(texts, func(t PageText) bool { return t.Name == e.Name && t.Lang == e.Lang })]
		if e.Version != before.Version {
			return journal.Operation{}, journal.Changed("the text", before)
		}
		after := e
		after.Version++
		body, err := encodeText(after)
		if err == nil {
			err = tx.Settings().SaveDocument(ctx, TextDocument(e.Name, e.Lang), before.Version, body)
		}
		return journal.Operation{
			Kind: "text.edit", Object: "text:" + e.Name + ":" + e.Lang, Before: before, After: after, Result: after,
		}, err
	})
}

// encodeText returns the document with the text. HTML characters are not escaped, because escapes need more space.
func encodeText(t PageText) (string, error) {
	var body strings.Builder
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(t)
	if err == nil && body.Len() > maxDocument {
		err = shop.Fail(shop.BadRequest, "the text is too long to be stored: shorten it")
	}
	return body.String(), err
}

// check validates the input.
func (p *PageText) check() error {
	if !slices.Contains(textNames, p.Name) {
		return shop.Fail(shop.BadRequest, "name must be contact, terms or privacy")
	}
	if _, err := shop.ParseLang(p.Lang); err != nil {
		return err
	}
	return checkText("text", p.Text, maxPageText, false, true)
}

// TextBoard is a node's copy of the texts of the page. While the database is unreachable, the last texts stay.
type TextBoard struct {
	Store *store.Store

	texts atomic.Pointer[PublishedTexts]
}

// PublishedTexts contains the texts that are set, as encoded responses for shoppers.
type PublishedTexts struct {
	List  []byte                       // {"texts": {name: [languages]}}
	Texts map[string]map[string][]byte // by name and language: {"lang", "text"}, in the other language if necessary
}

// Publish encodes the texts that are set.
func Publish(all []PageText) (*PublishedTexts, error) {
	langs := make(map[string][]string)
	byLang := make(map[string]map[string][]byte)
	for _, t := range all {
		if t.Text == "" {
			continue
		}
		body, err := json.Marshal(map[string]string{"lang": t.Lang, "text": t.Text})
		if err != nil {
			return nil, fmt.Errorf("encode the text %s: %w", t.Name, err)
		}
		if byLang[t.Name] == nil {
			byLang[t.Name] = make(map[string][]byte)
			for _, lang := range shop.Langs {
				byLang[t.Name][lang] = body
			}
		}
		langs[t.Name] = append(langs[t.Name], t.Lang)
		byLang[t.Name][t.Lang] = body
	}
	list, err := json.Marshal(map[string]any{"texts": langs})
	return &PublishedTexts{List: list, Texts: byLang}, err
}

// Now returns the texts that are set; none before the first read.
func (b *TextBoard) Now() *PublishedTexts {
	if texts := b.texts.Load(); texts != nil {
		return texts
	}
	return &PublishedTexts{List: []byte(`{"texts":{}}`)}
}

// Run reads the texts now and then refreshes the copy until ctx ends.
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
	texts, err := Publish(all)
	if err == nil {
		b.texts.Store(texts)
	}
	return err
}
