package api

import (
	"testing"

	"stampede/app/backoffice"
)

// All clients may read the texts of the page, from the copy of the node, and cache them for a minute. A text that is
// missing in a language is sent in the other one.
func TestTextsAreServedFromCopyOfNode(t *testing.T) {
	t.Parallel()
	texts, err := backoffice.Publish([]backoffice.PageText{
		{Name: "contact", Lang: "en", Text: "Call us."},
		{Name: "contact", Lang: "zh", Text: "请来电。"},
		{Name: "terms", Lang: "en"},
		{Name: "terms", Lang: "zh", Text: "条款"},
		{Name: "privacy", Lang: "en"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, func(o *Options) { o.Texts = func() *backoffice.PublishedTexts { return texts } })
	for path, want := range map[string]string{
		"":                       `{"texts":{"contact":["en","zh"],"terms":["zh"]}}`,
		"/texts/contact?lang=en": `{"lang":"en","text":"Call us."}`,
		"/texts/contact?lang=zh": `{"lang":"zh","text":"请来电。"}`,
		"/texts/terms?lang=en":   `{"lang":"zh","text":"条款"}`,
	} {
		got := s.request("GET", "/api/v1/shop"+path, "")
		s.want(got, 200, want)
		if cache := got.header.Get("Cache-Control"); cache != "public, max-age=60" {
			t.Errorf("%s: got Cache-Control %q, want one minute", path, cache)
		}
	}
	for path, want := range map[string]int{
		"privacy?lang=en": 404, "other?lang=en": 404, "terms?lang=de": 400, "terms": 400,
	} {
		if got := s.request("GET", "/api/v1/shop/texts/"+path, ""); got.code != want {
			t.Errorf("%s: got status %d, want %d", path, got.code, want)
		}
	}
}
