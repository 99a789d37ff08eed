package sim

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// compressedBody returns about 16 KB that decode to 16 MB.
func compressedBody(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCompressedBodiesAreRejected: every route rejects a compressed body at low cost. The test does not run in
// parallel, because it measures the allocations of the whole process.
func TestCompressedBodiesAreRejected(t *testing.T) {
	s, body := newShop(t, Options{}), compressedBody(t)
	for pattern := range s.routes() {
		method, path, _ := strings.Cut(pattern, " ")
		address := s.server.URL + strings.NewReplacer("{", "", "}", "").Replace(path)
		request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Encoding", "gzip")
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reply, err := s.client.Do(request)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		_ = reply.Body.Close()
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; reply.StatusCode != http.StatusUnsupportedMediaType ||
			spent > 1<<20 {
			t.Errorf("%s: got %s and %d bytes allocated, want 415 and at most 1 MiB", pattern, reply.Status, spent)
		}
	}
}
