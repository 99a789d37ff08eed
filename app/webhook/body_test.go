package webhook

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"stampede/app"
)

// Of a compressed answer no more is unpacked than of any other is read. It does not run beside other tests, because it
// counts what the whole process allocates.
func TestAnswerIsBoundedAfterDecoding(t *testing.T) {
	cut := make(chan bool, 1)
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packer, zeros := gzip.NewWriter(w), make([]byte, 1<<20)
		for range 4096 { // 4 GB
			if _, err := packer.Write(zeros); err != nil {
				cut <- true
				return
			}
		}
		cut <- false
	}))
	t.Cleanup(bomb.Close)
	s := New(bomb.URL, secret)
	t.Cleanup(s.Close)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := s.Deliver(t.Context(), app.OutboxMessage{Order: 1, Rev: 2})
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; err != nil || spent > 16<<20 || !<-cut {
		t.Errorf("%d bytes allocated, %v; or all of the answer was read", spent, err)
	}
}
