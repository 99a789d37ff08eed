package alipay

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxAnswer bounds what is read of an answer, in bytes; real ones are below 10 KB.
const maxAnswer = 1 << 20

// mostIdle is how many connections wait for the next call: about as many as questions are under way at once.
const mostIdle = 128

// newHTTP makes the client under the library, which by itself has no timeout, reads answers of any length, and looks at
// no status.
func newHTTP(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: guard{&http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: mostIdle, IdleConnTimeout: time.Minute,
		ForceAttemptHTTP2: true,
	}}}
}

// guard passes on answers with status 200 only, so no redirect is followed either: the gateway answers where it is
// asked.
type guard struct{ wire http.RoundTripper }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.wire.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxAnswer), response.Body}
	return response, nil
}

// CloseIdleConnections is what http.Client looks for.
func (g guard) CloseIdleConnections() { (&http.Client{Transport: g.wire}).CloseIdleConnections() }
