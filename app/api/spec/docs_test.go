package spec_test

import (
	"bytes"
	"flag"
	"html/template"
	"os"
	"regexp"
	"strings"
	"testing"

	"stampede/app/api/spec"
)

var update = flag.Bool("update", false, "write docs.html anew")

// render makes the page of both descriptions. It needs a parser of YAML, which the program does without: the page is
// kept beside them.
func render(t *testing.T) []byte {
	t.Helper()
	socket, err := os.ReadFile("../../../realtime/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	openAPI, err := parse(spec.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	asyncAPI, err := parse(socket)
	if err != nil {
		t.Fatal(err)
	}
	d, s := document{openAPI, "http"}, document{asyncAPI, "socket"}
	var b bytes.Buffer
	all := page{HTTP: httpPart(d), Socket: socketPart(t, s), Codes: codes(d)}
	if err := template.Must(template.ParseFiles("docs.tmpl")).Execute(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDocsPageIsCurrent: the page says what the descriptions say. go test ./app/api/spec -update writes it anew.
func TestDocsPageIsCurrent(t *testing.T) {
	made := render(t)
	if *update {
		if err := os.WriteFile("docs.html", made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("docs.html")
	if err != nil || !bytes.Equal(made, kept) {
		t.Errorf("docs.html is older than openapi.yaml, asyncapi.yaml, the golden frames or docs.tmpl: "+
			"go test ./app/api/spec -update (%v)", err)
	}
}

// Links lead somewhere, anchors are there once, and nothing needs what the security policy forbids: scripts, styles in
// the text, other sites.
func TestDocsPageHoldsTogether(t *testing.T) {
	t.Parallel()
	text := string(render(t))
	anchors := make(map[string]int)
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		anchors[m[1]]++
		if anchors[m[1]] == 2 {
			t.Errorf("the anchor %s is there twice", m[1])
		}
	}
	inside := map[string]bool{
		"/": true, "/favicon.svg": true, "/docs/docs.css": true, "/docs/openapi.yaml": true, "/docs/asyncapi.yaml": true,
	}
	links := regexp.MustCompile(` (?:href|src)="([^"]+)"`).FindAllStringSubmatch(text, -1)
	if len(links) < 100 {
		t.Fatalf("only %d links", len(links))
	}
	for _, m := range links {
		name, within := strings.CutPrefix(m[1], "#")
		if within && anchors[name] == 0 || !within && !inside[m[1]] {
			t.Errorf("the link %s leads nowhere", m[1])
		}
	}
	for _, bad := range []string{"<script", "<style", " style=", " onclick", "http://", "<no value>", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}
