package alipay

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	maxReply = 4 << 20 // maximum size of a reply, bytes; a page of a list has about 1 MB
	maxIdle  = 128     // idle connections: about the number of concurrent calls
)

// newHTTP returns the HTTP client for the library. The default client of the library has no timeout, no size limit for
// replies and no check of the status.
func newHTTP(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: guard{&http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute,
		ForceAttemptHTTP2: true,
	}}}
}

// guard accepts only status 200, so redirects are not followed.
type guard struct{ transport http.RoundTripper }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := g.transport.RoundTrip(r)
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
	}{io.LimitReader(response.Body, maxReply), response.Body}
	return response, nil
}

// CloseIdleConnections is called by http.Client.
func (g guard) CloseIdleConnections() { (&http.Client{Transport: g.transport}).CloseIdleConnections() }
