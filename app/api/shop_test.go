package api

import (
	"testing"

	"stampede/app/backoffice"
)

// All clients may read the texts of the page, from the copy of the node, and cache them for a minute.
func TestTextsAreServedFromCopyOfNode(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Texts = func() backoffice.PageTexts { return backoffice.PageTexts{"terms": {"zh": "条款"}} }
	})
	got := s.request("GET", "/api/v1/shop", "")
	s.want(got, 200, `{"texts":{"terms":{"zh":"条款"}}}`)
	if cache := got.header.Get("Cache-Control"); cache != "public, max-age=60" {
		t.Errorf("got Cache-Control %q, want one minute", cache)
	}
}
