// Package markup sanitizes the HTML that operators write: it allows only paragraphs, headings, lists, tables, quotes,
// emphasis, https links and pictures.
package markup

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
)

var policy = strictPolicy()

// elements lists the allowed elements without attributes. The page has the same list.
var elements = []string{
	"p", "br", "strong", "em", "ul", "ol", "li", "h2", "h3", "h4", "table", "thead", "tbody", "tr", "th", "td",
	"blockquote", "hr",
}

var (
	httpsURL = regexp.MustCompile(`(?i)^\s*https:`)
	// pictureURL matches https pictures and the pictures of this shop.
	pictureURL = regexp.MustCompile(`(?i)^\s*https:|^/(?:images|products)/[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// strictPolicy allows elements without attributes, the address of a link, and the address and alternative text of a
// picture. Links open in a new tab, which cannot access the page. Hosts of pictures do not receive the address of the
// page.
func strictPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements(elements...)
	p.AllowAttrs("href").Matching(httpsURL).OnElements("a")
	p.AllowAttrs("src").Matching(pictureURL).OnElements("img")
	p.AllowAttrs("alt").OnElements("img")
	p.AllowAttrs("loading").Matching(regexp.MustCompile(`^lazy$`)).OnElements("img")
	p.AllowAttrs("referrerpolicy").Matching(regexp.MustCompile(`^no-referrer$`)).OnElements("img")
	p.AllowURLSchemeWithCustomPolicy("https", func(u *url.URL) bool { return u.Hostname() != "" && u.User == nil })
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true) // only those that pictureURL matches
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // also sets rel="noopener"
	return p
}

// Clean returns the HTML that the policy allows, and the names of the removed markup: <div> is an element, <p class> an
// attribute, and <img src="…"> a picture with a forbidden address. Cleaning the result again changes and removes
// nothing.
func Clean(text string) (clean string, removed []string) {
	c := newCleaner(text)
	c.run()
	return strings.TrimSpace(policy.Sanitize(c.out.String())), c.removed
}
