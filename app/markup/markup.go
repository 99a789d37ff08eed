// Package markup sanitizes the HTML that operators write: it allows only paragraphs, lists, emphasis and https links.
package markup

import (
	"net/url"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

var policy = strictPolicy()

// strictPolicy allows a few elements, without attributes except the address of a link. Links open in a new tab, which
// cannot access the page.
func strictPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "strong", "em", "ul", "ol", "li")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemeWithCustomPolicy("https", func(u *url.URL) bool { return u.Hostname() != "" && u.User == nil })
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // also sets rel="noopener"
	return p
}

// Clean returns the HTML that the policy allows. Cleaning the result again changes nothing.
func Clean(html string) string {
	return strings.TrimSpace(policy.Sanitize(html))
}
