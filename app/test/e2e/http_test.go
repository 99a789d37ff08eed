package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/test/kit/contract"
)

// requestTime limits the duration of a request, including a long poll.
const requestTime = 15 * time.Second

// get requests a path with a bearer token; "" for none.
func (n *node) get(path, token string) (int, []byte) {
	n.t.Helper()
	return n.request(http.MethodGet, "http://"+n.addr+path, token, nil)
}

// post sends a JSON body; nil for none.
func (n *node) post(path, token string, body any) (int, []byte) {
	n.t.Helper()
	if body == nil {
		return n.request(http.MethodPost, "http://"+n.addr+path, token, nil)
	}
	return n.send(http.MethodPost, path, token, body)
}

// postRetrying is post with retries for up to a minute while the shop is busy, which happens more often on a slow
// machine.
func (n *node) postRetrying(path, token string, body any) (code int, response []byte) {
	n.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		code, response = n.post(path, token, body)
		var failure struct{ Error shop.Error }
		busy := json.Unmarshal(response, &failure) == nil && failure.Error.Code == shop.Busy
		if !busy || time.Now().After(deadline) {
			return code, response
		}
		time.Sleep(time.Duration(failure.Error.RetryMS) * time.Millisecond)
	}
}

// patch is post with the method PATCH.
func (n *node) patch(path, token string, body any) (int, []byte) {
	n.t.Helper()
	return n.send(http.MethodPatch, path, token, body)
}

func (n *node) send(method, path, token string, body any) (int, []byte) {
	n.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		n.t.Fatal(err)
	}
	return n.request(method, "http://"+n.addr+path, token, text)
}

func (n *node) request(method, url, token string, body []byte) (int, []byte) {
	n.t.Helper()
	return n.requestAs("act-"+kit.NewID().String(), method, url, token, body)
}

func (n *node) requestAs(key, method, url, token string, body []byte) (int, []byte) {
	n.t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		n.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if method != http.MethodGet && strings.Contains(url, "/operator/") {
		req.Header.Set("Idempotency-Key", key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := kit.HTTP
	if req.URL.Host == n.addr { // openapi.yaml does not describe the metrics listener
		client = contract.Client(n.t, requestTime)
	}
	resp, err := client.Do(req)
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

func (n *node) metric(name string) float64 {
	n.t.Helper()
	return kit.Metric(n.t, n.metrics, name)
}

// read is get with the signature of post.
func (n *node) read(path, token string, _ any) (int, []byte) { return n.get(path, token) }

// expect makes a request, checks its status, and decodes the response.
func (n *node) expect(
	status int, into any, request func(path, token string, body any) (int, []byte), path, token string, body any,
) {
	n.t.Helper()
	got, text := request(path, token, body)
	if got != status {
		n.t.Fatalf("%s: %d %s, want %d", path, got, text, status)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			n.t.Fatalf("%s returned %s: %v", path, text, err)
		}
	}
}
