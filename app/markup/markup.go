// Package markup makes of the HTML that operators write what can be shown on a page: paragraphs, lists, emphasis and
// https links, and nothing else.
package markup

import (
	"net/url"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

var policy = strict()

// strict allows a handful of elements without any attributes but a link's address. Links
// open beside the page and get no hold of it.
func strict() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "strong", "em", "ul", "ol", "li")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemeWithCustomPolicy("https", func(u *url.URL) bool { return u.Hostname() != "" && u.User == nil })
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // and with it rel="noopener"
	return p
}

// Clean leaves of the text what the policy allows. What it has cleaned it leaves as it is.
func Clean(html string) string {
	return strings.TrimSpace(policy.Sanitize(html))
}
