package spec_test

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"

	"github.com/oasdiff/yaml3"
)

// node is a place in a description, in the order in which people wrote it. A place that is not there is empty.
type node struct{ *yaml.Node }

func parse(text []byte) (node, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return node{}, err
	}
	return node{n.Content[0]}, nil
}

func (n node) get(path ...string) node {
	for _, name := range path {
		if n.Node == nil {
			return n
		}
		found := node{}
		for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
			if n.Content[i].Value == name {
				found = node{n.Content[i+1]}
			}
		}
		n = found
	}
	return n
}

func (n node) text() string {
	if n.Node == nil {
		return ""
	}
	return n.Value
}

// each calls with the members of a mapping in their order.
func (n node) each(call func(name string, value node)) {
	for i := 0; n.Node != nil && i+1 < len(n.Content); i += 2 {
		call(n.Content[i].Value, node{n.Content[i+1]})
	}
}

// list are the items of a sequence.
func (n node) list() (items []node) {
	if n.Node == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, item := range n.Content {
		items = append(items, node{item})
	}
	return items
}

func (n node) texts() (texts []string) {
	for _, item := range n.list() {
		texts = append(texts, item.text())
	}
	return texts
}

// document renders places of one description; its anchors begin with its name, because both stand on one page.
type document struct {
	root node
	name string
}

// follow answers what a reference names, and the last part of its name; what is no reference is itself.
func (d document) follow(n node) (target node, name string) {
	ref := n.get("$ref").text()
	if whole := n.get("allOf").list(); ref == "" && len(whole) == 1 { // how a reference is given a description of its own
		ref = whole[0].get("$ref").text()
	}
	if ref == "" {
		return n, ""
	}
	path := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	return d.root.get(path...), path[len(path)-1]
}

func (d document) anchor(name string) string { return d.name + "-" + name }

// kind says in a few words what a schema takes, with a link to what it names.
func (d document) kind(n node) template.HTML {
	target, name := d.follow(n)
	switch {
	case name == "payload":
		return template.HTML(fmt.Sprintf(`<a href="#%s">an order event</a>`, d.anchor("orderEvent")))
	case name != "":
		return template.HTML(fmt.Sprintf(`<a href="#%s">%s</a>`, d.anchor(name), html.EscapeString(name)))
	case len(target.get("oneOf").list()) > 0:
		return d.either(target.get("oneOf").list())
	case len(target.get("enum").list()) > 0:
		return code(strings.Join(target.get("enum").texts(), " | "))
	case target.get("const").Node != nil:
		return code(target.get("const").text())
	case target.get("type").text() == "array":
		return "list of " + d.kind(target.get("items"))
	}
	return template.HTML(html.EscapeString(target.get("type").text() + bounds(target)))
}

// either says which of several it may be.
func (d document) either(ways []node) template.HTML {
	kinds := make([]string, len(ways))
	for i, way := range ways {
		kinds[i] = string(d.kind(way))
	}
	return template.HTML(strings.Join(kinds, " or "))
}

func bounds(n node) string {
	low, high := n.get("minimum").text(), n.get("maximum").text()
	short, long := n.get("minLength").text(), n.get("maxLength").text()
	said := ""
	switch {
	case low != "" && high != "":
		said = ", " + low + " to " + high
	case low != "":
		said = ", at least " + low
	case long != "":
		said = ", " + strings.TrimPrefix(short+" to "+long, " to ") + " characters"
	case n.get("pattern").Node != nil:
		said = ", " + n.get("pattern").text()
	}
	if d := n.get("default").text(); d != "" {
		said += "; " + d + " if nothing is said"
	}
	return said
}

// field is a line about a parameter or a member of an object.
type field struct {
	Name, Where string
	Kind        template.HTML
	Required    bool
	About       template.HTML
	Fields      []field // of an object that has no name of its own
}

// fields are those of an object, or of all that it is put together of.
func (d document) fields(schema node) (all []field) {
	schema, _ = d.follow(schema)
	for _, part := range schema.get("allOf").list() {
		all = append(all, d.fields(part)...)
	}
	required := make(map[string]bool)
	for _, name := range schema.get("required").texts() {
		required[name] = true
	}
	schema.get("properties").each(func(name string, value node) {
		f := field{Name: name, Kind: d.kind(value), Required: required[name], About: d.about(value)}
		if value.get("properties").Node != nil {
			f.Fields = d.fields(value)
		}
		all = append(all, f)
	})
	return all
}

// about is the description of a place itself, else of what it refers to unless that has a section of its own.
func (d document) about(n node) template.HTML { return inline(n.get("description").text()) }

var ticks = regexp.MustCompile("`([^`]+)`")

// inline escapes a text, and sets what stands in backticks as code.
func inline(text string) template.HTML {
	return template.HTML(ticks.ReplaceAllString(html.EscapeString(strings.TrimSpace(text)), "<code>$1</code>"))
}

// paragraphs is inline for a text of several.
func paragraphs(text string) template.HTML {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if part != "" {
			fmt.Fprintf(&b, "<p>%s</p>", inline(part))
		}
	}
	return template.HTML(b.String())
}

func code(text string) template.HTML {
	return template.HTML("<code>" + html.EscapeString(text) + "</code>")
}
