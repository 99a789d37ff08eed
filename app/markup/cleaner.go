package markup

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

const (
	maxRemoved = 50  // names per description
	maxValue   = 100 // characters of a name, an address
)

// unseen lists elements whose content browsers do not show as text.
var unseen = []string{
	"script", "style", "title", "iframe", "object", "noscript", "noembed", "noframes", "frameset",
}

// inline lists removed elements that do not separate words.
var inline = []string{
	"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "font", "i", "ins", "kbd",
	"mark", "nobr", "picture", "q", "rb", "rp", "rt", "ruby", "s", "samp", "small", "source", "span", "strike", "sub",
	"sup", "time", "tt", "u", "var", "wbr",
}

var (
	keptInline = []string{"strong", "em", "a", "img"}
	cells      = []string{"thead", "tbody", "tr", "th", "td"} // elements that only a table can contain
)

// gap is a separation that is due before the next text.
type gap int

const (
	noGap gap = iota
	space
	newLine
)

// cleaner prepares a text for the policy: it names the markup that the policy will remove, and separates the words
// around removed blocks.
type cleaner struct {
	tokens  *html.Tokenizer
	out     strings.Builder
	removed []string
	known   map[string]html.Token // results of allowedForm

	line   bool // the current block has text or pictures
	due    gap
	tables int // open ones

	skipped string // the element whose content is omitted; "": none
	depth   int    // open elements with that name
}

func newCleaner(text string) *cleaner {
	return &cleaner{tokens: html.NewTokenizer(strings.NewReader(text)), known: make(map[string]html.Token)}
}

func (c *cleaner) run() {
	for c.tokens.Next() != html.ErrorToken {
		raw := string(c.tokens.Raw()) // Token overwrites the buffer
		switch t := c.tokens.Token(); {
		case c.skipped != "":
			c.skip(t)
		case t.Type == html.StartTagToken || t.Type == html.SelfClosingTagToken:
			c.start(t, raw)
		case t.Type == html.EndTagToken:
			c.end(t, raw)
		case t.Type == html.TextToken:
			if strings.TrimSpace(t.Data) != "" {
				c.separate()
				c.line = true
			}
			c.out.WriteString(raw)
		}
	}
}

// skip searches the end of an element whose content is omitted.
func (c *cleaner) skip(t html.Token) {
	switch {
	case t.Data == c.skipped && t.Type == html.StartTagToken:
		c.depth++
	case t.Data == c.skipped && t.Type == html.EndTagToken && c.depth > 1:
		c.depth--
	case t.Data == c.skipped && t.Type == html.EndTagToken:
		c.skipped = ""
	}
}

func (c *cleaner) start(t html.Token, raw string) {
	form := c.allowedForm(t, raw)
	for _, a := range t.Attr {
		if !has(form, a.Key) {
			c.note(t.Data, a)
		}
	}
	stray := c.tables == 0 && slices.Contains(cells, t.Data)
	switch {
	case slices.Contains(unseen, t.Data):
		c.note(t.Data, html.Attribute{})
		c.skipped, c.depth = t.Data, 1
		if t.Data == "object" || t.Data == "iframe" {
			c.due = max(c.due, space)
		}
	case t.Data == "img" && !has(form, "src"):
		if !has(t, "src") {
			c.note(t.Data, html.Attribute{})
		}
		c.due = max(c.due, space)
	case form.Data == "" || stray:
		if t.Data != "a" || !has(t, "href") {
			c.note(t.Data, html.Attribute{})
		}
		c.disappear(t.Data)
		if !stray {
			c.out.WriteString(raw) // the policy removes it: it may determine how its content is read
		}
	case t.Data == "img":
		c.separate()
		c.line = true
		c.out.WriteString(picture(form))
	default:
		if t.Data == "table" {
			c.tables++
		}
		c.keep(t.Data, raw)
	}
}

func (c *cleaner) end(t html.Token, raw string) {
	switch {
	case slices.Contains(unseen, t.Data), c.tables == 0 && (t.Data == "table" || slices.Contains(cells, t.Data)):
		c.disappear(t.Data) // closes nothing
	case slices.Contains(elements, t.Data) || t.Data == "a":
		if t.Data == "table" {
			c.tables--
		}
		if slices.Contains(keptInline, t.Data) {
			c.out.WriteString(raw)
		} else {
			c.keep(t.Data, raw)
		}
	default:
		c.disappear(t.Data)
		c.out.WriteString(raw)
	}
}

// keep writes the tag of an allowed element. The tag of a block separates words by itself.
func (c *cleaner) keep(name, raw string) {
	if slices.Contains(keptInline, name) {
		c.separate()
	} else {
		if c.line && c.due != noGap {
			c.out.WriteString("\n")
		}
		c.line, c.due = false, noGap
	}
	c.out.WriteString(raw)
}

// disappear notes that the tag of a removed element separates the words before and after it.
func (c *cleaner) disappear(name string) {
	if !slices.Contains(inline, name) && !slices.Contains(unseen, name) {
		c.due = newLine
	}
}

// separate writes the separation that is due, unless a block has started meanwhile.
func (c *cleaner) separate() {
	if c.line {
		c.out.WriteString([]string{noGap: "", space: " ", newLine: "<br>\n"}[c.due])
	}
	c.due = noGap
}

// allowedForm returns the tag as the policy allows it, without data if the policy removes it.
func (c *cleaner) allowedForm(t html.Token, raw string) html.Token {
	form, known := c.known[raw]
	if !known {
		z := html.NewTokenizer(strings.NewReader(policy.Sanitize(t.String())))
		z.Next()
		form = z.Token()
		c.known[raw] = form
	}
	return form
}

// picture returns the tag of an allowed picture. It is loaded when it is near the visible part of the page, and its
// host does not receive the address of the page.
func picture(form html.Token) string {
	return html.Token{Type: html.StartTagToken, Data: "img", Attr: []html.Attribute{
		{Key: "src", Val: value(form, "src")},
		{Key: "alt", Val: value(form, "alt")}, // without one, screen readers read the address
		{Key: "loading", Val: "lazy"},
		{Key: "referrerpolicy", Val: "no-referrer"},
	}}.String()
}

// note adds an element or an attribute to the names of the removed markup. Of addresses it also lists the value.
func (c *cleaner) note(element string, a html.Attribute) {
	name := "<" + shorten(element)
	switch {
	case a.Key == "src" || a.Key == "href":
		name += fmt.Sprintf(" %s=%q", a.Key, shorten(a.Val))
	case a.Key != "":
		name += " " + shorten(a.Key)
	}
	if name += ">"; slices.Contains(c.removed, name) || len(c.removed) > maxRemoved {
		return
	}
	if len(c.removed) == maxRemoved {
		name = "…"
	}
	c.removed = append(c.removed, name)
}

func shorten(s string) string {
	if runes := []rune(strings.ToValidUTF8(s, "")); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return s
}

func has(t html.Token, key string) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func value(t html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
