package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// get reads a path with a bearer token ("" for none).
func (n *node) get(path, token string) (int, []byte) {
	n.t.Helper()
	return n.request(http.MethodGet, "http://"+n.addr+path, token, nil)
}

// post sends a JSON body.
func (n *node) post(path, token string, body any) (int, []byte) {
	n.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	return n.request(http.MethodPost, "http://"+n.addr+path, token, text)
}

func (n *node) request(method, url, token string, body []byte) (int, []byte) {
	n.t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := plainHTTP.Do(req)
	if err != nil {
		n.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, text
}

// metric reads a figure without labels from the second listener; 0 when it is not there.
func (n *node) metric(name string) float64 {
	n.t.Helper()
	_, text := n.request(http.MethodGet, "http://"+n.metrics+"/metrics", "", nil)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				n.t.Fatalf("metric %s: %v", name, err)
			}
			return v
		}
	}
	return 0
}
