package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit/contract"
	"stampede/app/wsclient"
)

// route is the network route to a shop: direct, or through a TLS proxy.
type route struct {
	addr string      // host:port
	tls  *tls.Config // nil: without TLS
}

func (r route) page() string {
	if r.tls == nil {
		return "http://" + r.addr
	}
	return "https://" + r.addr
}

// visitor is a browser at a loopback address.
type visitor struct {
	route
	t      testing.TB
	from   string
	client *http.Client
}

// newVisitor returns a visitor that opens a new connection for each request, like a page that is closed quickly.
func (r route) newVisitor(t testing.TB, from string) *visitor {
	base := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: r.tls.Clone(), DialContext: dialFrom(from).DialContext,
	}
	return &visitor{route: r, t: t, from: from, client: &http.Client{
		Timeout: 60 * time.Second, Transport: &contract.Transport{T: t, Base: base},
	}}
}

func dialFrom(from string) *net.Dialer {
	return &net.Dialer{Timeout: 20 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
}

// httpResult is the response to a request.
type httpResult struct {
	code   int
	header http.Header
	text   string
	failed shop.Error // error in the body, if any
}

// request sends a request with additional headers, given as alternating names and values.
func (v *visitor) request(ctx context.Context, method, path, token string, headers ...string) (httpResult, error) {
	request, err := http.NewRequestWithContext(ctx, method, v.page()+path, http.NoBody)
	if err != nil {
		return httpResult{}, err
	}
	return v.send(request, token, headers)
}

// requestWithBody sends a request with a body.
func (v *visitor) requestWithBody(ctx context.Context, method, path, token, body string) (httpResult, error) {
	request, err := http.NewRequestWithContext(ctx, method, v.page()+path, strings.NewReader(body))
	if err != nil {
		return httpResult{}, err
	}
	return v.send(request, token, nil)
}

func (v *visitor) send(request *http.Request, token string, headers []string) (httpResult, error) {
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := v.client.Do(request)
	if err != nil {
		return httpResult{}, err
	}
	return readResult(response)
}

// raw sends a request that no normal client would send, and checks the response against openapi.yaml.
func (v *visitor) raw(request string) httpResult {
	v.t.Helper()
	conn, err := (&tls.Dialer{NetDialer: dialFrom(v.from), Config: v.tls}).Dial("tcp", v.addr)
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		v.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		v.t.Fatalf("%.100q: %v", request, err)
	}
	a, err := readResult(response)
	if err == nil {
		method, target, _ := strings.Cut(request, " ")
		parsed := httptest.NewRequest(method, strings.Fields(target)[0], nil)
		err = contract.Check(contract.Exchange{Request: parsed, Response: response, Got: []byte(a.text)})
	}
	if err != nil {
		v.t.Errorf("%.100q got %d %.300s: %v", request, a.code, a.text, err)
	}
	return a
}

func readResult(response *http.Response) (httpResult, error) {
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	a := httpResult{code: response.StatusCode, header: response.Header, text: string(text)}
	var body struct{ Error *shop.Error }
	if json.Unmarshal(text, &body) == nil && body.Error != nil {
		a.failed = *body.Error
	}
	return a, err
}

// becomeGuest becomes a guest. It waits and retries if the reply contains retry_ms, as the page does.
func (v *visitor) becomeGuest(ctx context.Context) (token string, err error) {
	for {
		a, err := v.request(ctx, http.MethodPost, "/api/v1/auth/guest", "")
		switch {
		case err != nil:
			return "", fmt.Errorf("become a guest: %w", err)
		case a.code == http.StatusOK:
			var session struct{ Access string }
			return session.Access, errors.Join(json.Unmarshal([]byte(a.text), &session), requireToken(&session.Access))
		case a.failed.RetryMS == 0:
			return "", fmt.Errorf("become a guest: %d %s", a.code, a.text)
		}
		if err := sleep(ctx, a.failed.RetryMS); err != nil {
			return "", err
		}
	}
}

func requireToken(text *string) error {
	if *text == "" {
		return errors.New("the session has no token")
	}
	return nil
}

// sleep waits for the given milliseconds or until ctx ends.
func sleep(ctx context.Context, ms int64) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	}
}

// socket opens a socket as a page of the origin would. If the handshake is rejected, it returns the response.
func (v *visitor) socket(ctx context.Context, origin string) (*wsclient.Conn, httpResult, error) {
	messages, err := asyncMessages()
	if err != nil {
		return nil, httpResult{}, err
	}
	dialer := wsclient.Dialer{
		Origin: origin, TLS: v.tls.Clone(), From: dialFrom(v.from).LocalAddr, Seen: messages.CheckFrames(v.t),
	}
	conn, err := dialer.Dial(ctx, v.page())
	var refused *wsclient.Refused
	if !errors.As(err, &refused) {
		return conn, httpResult{}, err
	}
	a, _ := readResult(refused.Response) // the library keeps the start of the body, here the whole body
	if mismatch := contract.CheckRejected(refused.Response, []byte(a.text)); mismatch != nil {
		v.t.Errorf("a handshake was rejected with %d %s: %v", a.code, a.text, mismatch)
	}
	return nil, a, err
}

// openWithHello opens a socket and sends hello with the token.
func (v *visitor) openWithHello(t *testing.T, token string) *wsclient.Conn {
	t.Helper()
	conn, a, err := v.socket(t.Context(), v.page())
	if err != nil {
		t.Fatalf("open a socket from %s: %v: %d %s", v.from, err, a.code, a.text)
	}
	t.Cleanup(conn.Close)
	if _, err := conn.Hello(token, ""); err != nil {
		t.Fatalf("hello from %s: %v", v.from, err)
	}
	return conn
}

// shop performs the first ops of a page: a guest, a socket, hello, watch and a buy. It retries each op that is
// busy or rate-limited (I6: with the same key).
func (v *visitor) shop(ctx context.Context, sale shop.ID, key string) error {
	token, err := v.becomeGuest(ctx)
	if err != nil {
		return err
	}
	conn, a, err := v.socket(ctx, v.page())
	if err != nil {
		return fmt.Errorf("open the socket: %w: %d %s", err, a.code, a.text)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, conn.Close)()
	for _, op := range []wsclient.Request{
		{Op: wsclient.Hello, Token: token}, {Op: wsclient.Watch}, {Op: wsclient.Buy, Sale: sale, Qty: 1, Key: key},
	} {
		err := conn.RetryOnCodes(func() error {
			_, err := conn.Do(op)
			return err
		}, shop.Busy, shop.RateLimited)
		if err != nil {
			return fmt.Errorf("%s: %w", op.Op, err)
		}
	}
	return nil
}

// crowd sends the given number of people from one address at the same instant. It checks that each has bought within
// the given time.
func (r route) crowd(t *testing.T, people int, from string, sale shop.ID, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	began := time.Now()
	errs := make([]error, people)
	var all sync.WaitGroup
	for i := range people {
		all.Go(func() { errs[i] = r.newVisitor(t, from).shop(ctx, sale, fmt.Sprintf("%s-%d-%d", from, people, i)) })
	}
	all.Wait()
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
		}
	}
	t.Logf("the buys of all %d shoppers from %s ended after %v", people, from, time.Since(began))
	if failed > 0 {
		t.Errorf("%d of %d shoppers have not bought within %v: %v", failed, people, within, errors.Join(errs...))
	}
}
