package alipay_test

import (
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"stampede/app"
	"stampede/app/alipay"
)

// A compressed answer counts by what it becomes: one that unpacks to 256 MB is read as far as an answer may be long,
// and is then unknown (I6). It does not run beside other tests, because it counts what the whole process allocates.
func TestAnswerIsBoundedAfterDecoding(t *testing.T) {
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		packer, zeros := gzip.NewWriter(w), make([]byte, 1<<20)
		for range 256 {
			if _, err := packer.Write(zeros); err != nil {
				return // the adapter has hung up
			}
		}
		_ = packer.Close()
	}))
	t.Cleanup(bomb.Close)
	c := newCounter(t, func(o *alipay.Options) { o.Gateway = bomb.URL })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.Query(context.Background(), 7)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, app.ErrTransient) || spent > 32<<20 {
		t.Errorf("%d bytes allocated, %v", spent, err)
	}
}
