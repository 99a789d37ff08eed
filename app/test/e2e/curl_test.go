package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"stampede/app/test/kit"
	"stampede/app/test/kit/contract"
)

// The curl examples in the README of the API work. They run as one script against a real server, and each request and
// response is checked against openapi.yaml. Each response in the README has the form of a received one.
func TestCurlExamplesWork(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, append(g.settings, "STAMPEDE_GUEST_LOGIN=true")...)
	sale := s.open(5, 2)
	n := s.start()
	proxy := newRecorder(t, n.addr)

	text, err := os.ReadFile("../../api/README.md")
	s.must(err)
	var script strings.Builder
	script.WriteString("set -euo pipefail\nstampede() { \"$BINARY\" \"$@\"; }\n")
	blocks := regexp.MustCompile("(?s)```(sh|json)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	for _, block := range blocks {
		if block[1] == "sh" {
			script.WriteString(block[2])
		}
	}
	cmd := exec.CommandContext(kit.Context(t), "bash", "-c", script.String())
	cmd.Env = slices.Concat(os.Environ(), s.settings, []string{
		"SHOP=" + proxy.url, "BINARY=" + binary, "STAMPEDE_JWT_SECRET=" + secret,
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, block := range blocks {
		if block[1] == "json" && !proxy.returned(block[2]) {
			t.Errorf("the README shows a response that no command returned: %s", block[2])
		}
	}
	for _, request := range []string{
		"POST /api/v1/sales/" + sale.ID.String() + "/buy 200", "POST /api/v1/auth/guest 200", "GET /api/v1/orders 401",
	} {
		if !slices.Contains(proxy.requests, request) {
			t.Errorf("no curl command sent %s; sent: %q", request, proxy.requests)
		}
	}
	s.awaitDrained(sale)
	s.audit(sale)
}

// recorder is a proxy in front of a node. It checks the traffic against openapi.yaml and stores the responses.
type recorder struct {
	url string

	mu        sync.Mutex
	requests  []string
	responses []string
}

func newRecorder(t *testing.T, addr string) *recorder {
	t.Helper()
	w := &recorder{}
	target := &url.URL{Scheme: "http", Host: addr}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: &contract.Transport{T: t},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(res *http.Response) error {
			text, err := io.ReadAll(res.Body)
			res.Body = io.NopCloser(bytes.NewReader(text))
			w.mu.Lock()
			defer w.mu.Unlock()
			w.responses = append(w.responses, string(text))
			w.requests = append(w.requests, res.Request.Method+" "+res.Request.URL.Path+" "+res.Status[:3])
			return err
		},
	})
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// returned reports whether a response had the shown form: the same fields with the same types, and the same values of
// codes and states.
func (r *recorder) returned(shown string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var want any
	if json.Unmarshal([]byte(shown), &want) != nil {
		return false
	}
	return slices.ContainsFunc(r.responses, func(response string) bool {
		var got any
		return json.Unmarshal([]byte(response), &got) == nil && sameForm("", want, got)
	})
}

func sameForm(name string, want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, is := got.(map[string]any)
		for name := range want {
			is = is && sameForm(name, want[name], got[name])
		}
		return is && len(want) == len(got)
	case string:
		got, is := got.(string)
		return is && (want == got || name != "code" && name != "state")
	case float64:
		_, is := got.(float64)
		return is
	}
	return want == got
}
