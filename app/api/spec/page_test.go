package spec_test

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"testing"
)

// What the page is made of.
type (
	page struct {
		HTTP, Socket part
		Codes        []errorCode
	}
	part struct {
		Name, Title string
		About       template.HTML
		Groups      []group
		Schemas     []schema
	}
	group struct {
		Anchor, Name string
		About        template.HTML
		Items        []item
	}
	// item is an operation, an op with its reply, or an event.
	item struct {
		Anchor, Verb, Name, Summary string
		About                       template.HTML
		Token                       string // whether one is needed: "", "optional" or "needed"
		Params                      []field
		Takes, Gives                *body
		Codes                       []string
		Examples                    []example
	}
	body struct {
		Title  string
		Kind   template.HTML
		About  template.HTML
		Fields []field
	}
	schema struct {
		Anchor, Name string
		Kind         template.HTML
		About        template.HTML
		Fields       []field
	}
	errorCode struct {
		Code, Status string
		Means, Do    template.HTML
	}
	example struct{ Title, Text string }
)

// httpPart tells openapi.yaml.
func httpPart(d document) part {
	p := part{Name: d.name, Title: "HTTP", About: paragraphs(d.root.get("info", "description").text())}
	for _, tag := range d.root.get("tags").list() {
		name := tag.get("name").text()
		g := group{Anchor: d.anchor("tag-" + name), Name: name, About: d.about(tag)}
		d.root.get("paths").each(func(path string, methods node) {
			methods.each(func(method string, op node) {
				if slices.Contains(op.get("tags").texts(), name) {
					g.Items = append(g.Items, d.operation(method, path, op))
				}
			})
		})
		p.Groups = append(p.Groups, g)
	}
	p.Schemas = d.schemas()
	return p
}

func (d document) operation(method, path string, op node) item {
	it := item{
		Anchor: d.anchor(op.get("operationId").text()), Verb: strings.ToUpper(method), Name: path,
		Summary: op.get("summary").text(), About: paragraphs(op.get("description").text()), Codes: op.get("x-errors").texts(),
	}
	if ways := op.get("security").list(); len(ways) == 1 {
		it.Token = "needed"
	} else if len(ways) > 1 {
		it.Token = "optional"
	}
	for _, p := range op.get("parameters").list() {
		p, _ := d.follow(p)
		it.Params = append(it.Params, field{
			Name: p.get("name").text(), Where: p.get("in").text(), Kind: d.kind(p.get("schema")),
			Required: p.get("required").text() == "true", About: d.about(p),
		})
	}
	request, _ := d.follow(op.get("requestBody"))
	it.Takes = d.content("Body", request)
	op.get("responses").each(func(status string, response node) {
		if status[0] == '2' {
			it.Gives = d.content("Answer "+status, response)
		}
	})
	it.Examples = d.curl(it, path, request, op)
	return it
}

// content is the body of a request or an answer; nil for none.
func (d document) content(title string, n node) (b *body) {
	n.get("content").each(func(kind string, media node) {
		b = &body{Title: title, About: d.about(n), Kind: d.kind(media.get("schema"))}
		if kind != "application/json" {
			b.Kind = code(kind)
		} else if _, named := d.follow(media.get("schema")); named != "" {
			b.Fields = d.fields(media.get("schema"))
		}
	})
	return b
}

// curl shows an operation as one would try it, and what comes back.
func (d document) curl(it item, path string, request, op node) []example {
	var answer string
	op.get("responses", "200", "content", "application/json").each(func(_ string, schema node) {
		answer = pretty(d.sample(schema, 0))
	})
	if answer == "" {
		return nil
	}
	address := path
	for _, p := range it.Params {
		if p.Where == "path" {
			address = strings.Replace(address, "{"+p.Name+"}", sampleID, 1)
		}
		if p.Where == "query" && p.Required {
			address += "?" + p.Name + "=paid"
		}
	}
	line := "curl "
	if it.Verb != "GET" {
		line += "-X " + it.Verb + " "
	}
	line += fmt.Sprintf(`"$SHOP%s"`, address)
	if it.Token == "needed" {
		line += " \\\n  -H \"Authorization: Bearer $TOKEN\""
	}
	request.get("content", "application/json").each(func(_ string, schema node) {
		line += " \\\n  -H 'Content-Type: application/json' -d '" + d.sample(schema, 0) + "'"
	})
	return []example{{"Ask", line}, {"Answer", answer}}
}

func (d document) schemas() (all []schema) {
	d.root.get("components", "schemas").each(func(name string, n node) {
		all = append(all, schema{
			Anchor: d.anchor(name), Name: name, Kind: d.kind(n), About: d.about(n), Fields: d.fields(n),
		})
	})
	return all
}

func codes(d document) (all []errorCode) {
	d.root.get("components", "schemas", "Code", "x-codes").each(func(name string, n node) {
		all = append(all, errorCode{
			name, n.get("status").text(), inline(n.get("means").text()), inline(n.get("do").text()),
		})
	})
	return all
}

// socketPart tells asyncapi.yaml, with the golden frames as examples.
func socketPart(t *testing.T, d document) part {
	p := part{Name: d.name, Title: "Socket", About: paragraphs(d.root.get("info", "description").text())}
	frames := framesByMessage(t)
	ops := group{Anchor: d.anchor("ops"), Name: "Ops", About: "What a client says, and what it hears back."}
	events := group{Anchor: d.anchor("events"), Name: "Events", About: "What the server says by itself."}
	failure := group{Anchor: d.anchor("failures"), Name: "Errors", About: "What comes instead of a reply."}
	messages := d.root.get("components", "messages")
	messages.each(func(name string, n node) {
		it := item{
			Anchor: d.anchor(name), Name: name, Summary: n.get("summary").text(), About: paragraphs(n.get("description").text()),
			Takes: &body{Title: "Frame", Fields: d.fields(n.get("payload"))}, Examples: frames[name],
		}
		switch {
		case name == "errorReply":
			it.Verb, it.Name = "←", "error"
			failure.Items = append(failure.Items, it)
		case strings.HasSuffix(name, "Event"):
			it.Verb, it.Name = "←", strings.TrimSuffix(name, "Event")
			events.Items = append(events.Items, it)
		case !strings.HasSuffix(name, "Reply"):
			it.Verb, it.Gives = "→", d.reply(messages.get(name+"Reply"))
			it.Examples = append(it.Examples, frames[name+"Reply"]...)
			ops.Items = append(ops.Items, it)
		}
	})
	p.Groups = []group{ops, events, failure}
	p.Schemas = d.schemas()
	return p
}

func (d document) reply(message node) *body {
	return &body{
		Title: "Reply", About: inline(message.get("summary").text()), Fields: d.fields(message.get("payload")),
	}
}
