package spec_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"stampede/app/test/kit"
)

const (
	sampleID = "7301444480512000257"
	protocol = "../../../realtime/testdata/protocol"
)

// sample is JSON that a schema describes: its own examples where it has some. deep bounds what is shown of it.
func (d document) sample(n node, deep int) string {
	target, name := d.follow(n)
	first := target.get("enum").list()
	switch {
	case len(target.get("oneOf").list()) > 0:
		return d.sample(target.get("oneOf").list()[0], deep)
	case name == "Note":
		return `{"note":"worn"}`
	case target.get("example").Node != nil:
		return literal(target, target.get("example"))
	case len(first) > 0:
		return quote(first[0].text())
	case target.get("type").text() == "array":
		return "[" + d.sample(target.get("items"), deep+1) + "]"
	case target.get("properties").Node != nil || target.get("allOf").Node != nil:
		return "{" + strings.Join(d.members(target, deep), ",") + "}"
	}
	switch target.get("type").text() {
	case "integer", "number":
		return "1"
	case "boolean":
		return "false"
	case "object":
		return "{}"
	}
	return `"…"`
}

func (d document) members(target node, deep int) (members []string) {
	for _, part := range target.get("allOf").list() {
		part, _ = d.follow(part)
		members = append(members, d.members(part, deep)...)
	}
	required := strings.Join(target.get("required").texts(), " ") + " "
	target.get("properties").each(func(name string, value node) {
		if strings.Contains(required, name+" ") || name == "address" && deep == 0 {
			members = append(members, quote(name)+":"+d.sample(value, deep+1))
		}
	})
	return members
}

func literal(schema, n node) string {
	if schema.get("type").text() == "string" {
		return quote(n.text())
	}
	return n.text()
}

func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text always can
	return strings.TrimSpace(b.String())
}

func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// framesByMessage are the golden frames as examples of the messages of asyncapi.yaml, which it names as they do.
func framesByMessage(t *testing.T) map[string][]example {
	t.Helper()
	found := make(map[string][]example)
	for _, direction := range []string{"client", "server"} {
		frames := kit.GoldenFrames(t, protocol, direction)
		for _, place := range slices.Sorted(maps.Keys(frames)) {
			file, title, _ := strings.Cut(place, "/")
			var says struct{ Ev, Op string }
			if err := json.Unmarshal(frames[place], &says); err != nil {
				t.Fatal(err)
			}
			name := file + "Reply"
			switch {
			case says.Op != "":
				name = says.Op
			case says.Ev != "":
				name = says.Ev + "Event"
			case file == "errors":
				name = "errorReply"
			}
			arrow := map[string]string{"client": "→ ", "server": "← "}[direction]
			found[name] = append(found[name], example{arrow + title, pretty(string(frames[place]))})
		}
	}
	return found
}
