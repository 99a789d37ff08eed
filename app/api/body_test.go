package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// maxPerRequest limits the memory that the process, including the test client, may allocate for a rejected request.
// Decoding any bomb below would allocate at least seven times as much.
const maxPerRequest = 1 << 20

// bomb is a body whose decoded size is many times bodyLimit.
type bomb struct {
	encodings []string // one Content-Encoding header each
	body      []byte
}

// bombs returns bodies within the body limit. The encodings are in the order in which a server would decode them.
func bombs(t *testing.T) map[string]bomb {
	t.Helper()
	zeros := make([]byte, 7<<20)
	gzip, deflate := fasthttp.AppendGzipBytes(nil, zeros), fasthttp.AppendDeflateBytes(nil, zeros)
	brotli, zstd := fasthttp.AppendBrotliBytes(nil, zeros), fasthttp.AppendZstdBytes(nil, zeros)
	nested := fasthttp.AppendBrotliBytes(nil, gzip)
	all := map[string]bomb{
		"gzip":                        {[]string{"gzip"}, gzip},
		"x-gzip":                      {[]string{"x-gzip"}, gzip},
		"deflate":                     {[]string{"deflate"}, deflate},
		"br":                          {[]string{"br"}, brotli},
		"brotli":                      {[]string{"brotli"}, brotli},
		"zstd":                        {[]string{"zstd"}, zstd},
		"nested in one header":        {[]string{"br, gzip"}, nested},
		"nested without a space":      {[]string{"br,gzip"}, nested},
		"nested in two headers":       {[]string{"br", "gzip"}, nested},
		"gzip before identity":        {[]string{"gzip, identity"}, gzip},
		"identity in a later header":  {[]string{"gzip", "identity"}, gzip},
		"identity in an early header": {[]string{"identity", "gzip"}, gzip},
		"in capitals":                 {[]string{"GZIP"}, gzip},
		"unknown":                     {[]string{"whatever"}, []byte("x")},
	}
	for name, b := range all {
		if len(b.body) > bodyLimit {
			t.Fatalf("%s: got %d bytes, want at most the body limit of %d", name, len(b.body), bodyLimit)
		}
	}
	return all
}

// everyRoute returns the method and the path of all routes, including those of HTTPServer.
func everyRoute(t *testing.T) [][2]string {
	t.Helper()
	s := &site{t: t}
	all := [][2]string{{"GET", "/healthz"}, {"POST", "/healthz"}, {"GET", "/readyz"}, {"POST", "/nowhere"}}
	for _, r := range newApp(s.options()).GetRoutes(true) {
		all = append(all, [2]string{r.Method, strings.NewReplacer(":id", "7", "*", "index.html").Replace(r.Path)})
	}
	if len(all) < 30 {
		t.Fatalf("got %d routes, want at least 30", len(all))
	}
	return all
}

// TestEncodedBodiesAreRejected: every route rejects a compressed body with 415 and the usual error body, and allocates
// little memory. The test is not parallel, because it measures allocations of the whole process.
func TestEncodedBodiesAreRejected(t *testing.T) {
	routes, bodies := everyRoute(t), bombs(t)
	s := open(t, func(o *Options) { o.HandleNotification = func(context.Context, url.Values) error { return nil } })
	kinds := []string{fiber.MIMEApplicationJSON, fiber.MIMEApplicationForm, fiber.MIMEMultipartForm + "; boundary=x"}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	for name, b := range bodies {
		for _, r := range routes {
			for _, kind := range kinds {
				req, err := http.NewRequestWithContext(t.Context(), r[0], s.url+r[1], bytes.NewReader(b.body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = http.Header{
					"cOnTeNt-EnCoDiNg": b.encodings, "Content-Type": {kind}, "Authorization": {"Bearer user-1"},
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				res, err := client.Do(req)
				if err != nil {
					t.Fatalf("%s: %s %s: %v", name, r[0], r[1], err)
				}
				text, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				runtime.ReadMemStats(&after)
				if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxPerRequest {
					t.Errorf("%s: %s %s with %s: got %d bytes allocated for a body of %d bytes, want at most %d", name, r[0], r[1], kind, allocated, len(b.body), maxPerRequest)
				}
				hasErrorBody := r[0] == http.MethodHead || strings.HasPrefix(string(text), `{"error":{"code":"bad_request"`)
				if res.StatusCode != http.StatusUnsupportedMediaType || !hasErrorBody {
					t.Errorf("%s: %s %s: got %d %.80s, want 415 bad_request", name, r[0], r[1], res.StatusCode, text)
				}
			}
		}
	}
}

// A body with Content-Encoding identity is accepted.
func TestIdentityEncodingIsAccepted(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) { o.Buy = new(fakeCheckout).buy })
	for _, encoding := range []string{"identity", "Identity", "identity, identity", ""} {
		as := []string{"Authorization", "Bearer user-42", "Content-Encoding", encoding}
		s.want(s.request("POST", "/api/v1/sales/5/buy", validBuy, as...), 200, "reserved")
	}
}

// A handshake with an encoded body is rejected before its connection is handed over.
func TestHandshakeWithEncodingIsRejected(t *testing.T) {
	t.Parallel()
	_, _, res := open(t, nil).handshake("Content-Encoding: gzip\r\n", "")
	if res.StatusCode != http.StatusUnsupportedMediaType || res.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("got %s, want 415 with Accept-Encoding: identity", res.Status)
	}
}
