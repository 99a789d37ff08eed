package api

import (
	"strings"
	"testing"
)

// Every address below /console is the console, which reads from it what is meant, under a policy of its own. Files of
// the build are files, or not there.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{"/console", "/console/", "/console/sales/7301444403200000101", "/console/a.b"} {
		got := s.ask("GET", path, "")
		s.want(got, 200, "<p>console</p>")
		for header, want := range map[string]string{
			"Content-Type": "text/html", "Cache-Control": "no-cache", "X-Robots-Tag": "noindex",
			"Content-Security-Policy": "require-trusted-types-for 'script'; trusted-types vue",
		} {
			if !strings.Contains(got.header.Get(header), want) {
				t.Errorf("%s: %s is %q", path, header, got.header.Get(header))
			}
		}
		if again := s.ask("GET", path, "", "If-None-Match", got.header.Get("ETag")); again.code != 304 {
			t.Errorf("%s: got %d, want 304", path, again.code)
		}
	}
	asset := s.ask("GET", "/console/assets/b.1.js", "")
	s.want(asset, 200, "2")
	if cache := asset.header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
		t.Errorf("cached as %q", cache)
	}
	for _, path := range []string{"/console/assets/gone.js", "/consoles", "/.vite/manifest.json"} {
		s.want(s.ask("GET", path, ""), 404, "not_found")
	}
	if policy := s.ask("GET", "/", "").header.Get("Content-Security-Policy"); strings.Contains(policy, "trusted-types") {
		t.Errorf("the shop's page has the console's policy: %s", policy)
	}

	bare := open(t, func(o *Options) { o.Page = nil })
	bare.want(bare.ask("GET", "/console", ""), 404, "not_found")
}
