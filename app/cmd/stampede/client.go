package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
)

const (
	defaultServer = "http://127.0.0.1:8080"
	apiPath       = "/api/v1"
	operatorPath  = apiPath + "/operator"
	// clientWait bounds one request; the server bounds most of them much earlier.
	clientWait = time.Minute
	// largestPage is the largest number of items in one answer of the API.
	largestPage = 100
	// longestAnswer bounds an answer, bytes: an export of all products.
	longestAnswer = 256 << 20
)

// client calls the HTTP API for one command. It is for one goroutine.
type client struct {
	env   *env
	base  string // without a slash at the end
	token string
	saved *sessions // of `stampede login`; nil: the token is STAMPEDE_TOKEN
	http  *http.Client
	key   string // of the operation
	note  string
	acts  map[string]int // requests so far that change something, by method and path
}

// look runs a command that reads from a server.
func (e *env) look(r reading, do func(c *client) error) error {
	return e.operate(operating{keyed: keyed{reading: r}}, do)
}

// operate runs a command that changes something at a server.
func (e *env) operate(o operating, do func(c *client) error) error {
	if o.Key == "" {
		o.Key = "cli-" + strings.ToLower(rand.Text())
	}
	if err := journal.CheckActKey(o.Key); err != nil {
		return fmt.Errorf("%w: --key must be 8 to 64 characters of A-Z a-z 0-9 _ -", errUsage)
	}
	c, err := e.client(o.Server)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	c.key, c.note = o.Key, o.Note
	if c.token = e.variable("STAMPEDE_TOKEN"); c.token == "" {
		if c.saved, err = e.sessions(); err != nil {
			return err
		}
		c.token = c.saved.Of[c.base].Access
	}
	if c.token == "" {
		return fmt.Errorf("nobody is logged in at %s: run stampede login, or set STAMPEDE_TOKEN", c.base)
	}
	e.shop = c
	return errors.Join(do(c), e.noZone)
}

// client makes one without a token.
func (e *env) client(server string) (*client, error) {
	server = cmp.Or(server, e.variable("STAMPEDE_URL"), defaultServer)
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: the server is %q: want http://host:port or https://host", errUsage, server)
	}
	if u.Scheme == "http" && isPublic(u.Hostname()) {
		return nil, fmt.Errorf("%w: %s would get the token unencrypted: use https", errUsage, u.Host)
	}
	return &client{env: e, base: u.Scheme + "://" + u.Host, http: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: clientWait,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// isPublic reports whether the host is an address that is neither of this machine nor of a private network.
func isPublic(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && !addr.IsLoopback() && !addr.IsPrivate() && !addr.IsLinkLocalUnicast()
}

// variable is a variable of the environment; "" if it is not set.
func (e *env) variable(name string) (value string) {
	for _, line := range e.environ { // the last one counts
		if text, found := strings.CutPrefix(line, name+"="); found {
			value = text
		}
	}
	return value
}

// get reads from an operators' route.
func (c *client) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(http.MethodGet, operatorPath+path, nil, into)
}

// act changes something at an operators' route.
func (c *client) act(method, path string, body, into any) error {
	return c.call(method, operatorPath+path, body, into)
}

// call sends a request, and once more with a new access token when the saved one has ended. A body of bytes is a file,
// every other one becomes JSON. An answer into *[]byte is read as it is.
func (c *client) call(method, path string, body, into any) error {
	content, kind, err := c.encode(method, body)
	if err != nil {
		return err
	}
	r := request{method: method, path: path, kind: kind, content: content}
	if method != http.MethodGet {
		r.key = c.keyOf(method + " " + path)
	}
	err = c.send(r, into)
	if c.saved != nil && errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
		if err = c.refresh(); err == nil {
			err = c.send(r, into)
		}
	}
	return err
}

// keyOf derives the key of an operation from that of the command, so that a repeated command repeats each of its
// operations, whatever their order.
func (c *client) keyOf(operation string) string {
	if c.acts == nil {
		c.acts = make(map[string]int)
	}
	c.acts[operation]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", operation, c.acts[operation]))
	return fmt.Sprintf("%.51s-%s", c.key, hex.EncodeToString(sum[:6]))
}

// encode makes the body of a request. Fields without a value are left out, since null has a meaning in some routes; the
// note is added.
func (c *client) encode(method string, body any) (content []byte, kind string, err error) {
	if file, is := body.([]byte); is {
		return file, "application/octet-stream", nil
	}
	if method == http.MethodGet {
		return nil, "", nil
	}
	fields := make(map[string]json.RawMessage)
	if body != nil {
		if content, err = json.Marshal(body); err == nil {
			err = json.Unmarshal(content, &fields)
		}
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	if c.note != "" && err == nil {
		fields["note"], err = json.Marshal(c.note)
	}
	if err == nil {
		content, err = json.Marshal(fields)
	}
	return content, "application/json", err
}

// request is what send needs to know of a request.
type request struct {
	method, path string
	kind         string // of the content
	key          string // the idempotency key; may be empty
	content      []byte
}

func (c *client) send(r request, into any) error {
	req, err := http.NewRequestWithContext(c.env.ctx, r.method, c.base+r.path, bytes.NewReader(r.content))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": r.kind, "Idempotency-Key": r.key, "User-Agent": "stampede/" + version,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return failureOf(res, text)
	}
	switch into := into.(type) {
	case nil:
		return nil
	case *[]byte:
		*into = text
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return nil
}

// failureOf is the error in an answer.
func failureOf(res *http.Response, text []byte) error {
	var body struct {
		Error *struct {
			shop.Error
			Request string `json:"request"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Error == nil || body.Error.Code == "" {
		if to := res.Header.Get("Location"); to != "" {
			return fmt.Errorf("the server sends to %s: name that one with --server", to)
		}
		return fmt.Errorf("the server answers %s, which no Stampede does", res.Status)
	}
	if body.Error.Code == shop.Internal || body.Error.Code == shop.Busy { // the log has the cause
		return fmt.Errorf("%w (request %s)", &body.Error.Error, body.Error.Request)
	}
	return &body.Error.Error
}

// version is the one that was seen, or (0) the one that the object has now.
func (c *client) version(path string, seen int64) (int64, error) {
	if seen != 0 {
		return seen, nil
	}
	var object struct {
		Version int64 `json:"version"`
	}
	err := c.get(path, nil, &object)
	return object.Version, err
}

// zone is the one by whose clocks the shop's days begin.
func (c *client) zone() (*time.Location, error) {
	var calendar struct {
		Zone string `json:"zone"`
	}
	query := url.Values{"from": {time.Now().UTC().Format(time.DateOnly)}}
	if err := c.get("/slots", query, &calendar); err != nil {
		return nil, err
	}
	return time.LoadLocation(calendar.Zone)
}

// collection is a list at an operators' route; name is that of the list in the answer.
type collection struct{ path, name string }

// page reads a list, and whether there is more.
func page[T any](c *client, of collection, query url.Values) (items []T, more bool, err error) {
	var answer map[string]json.RawMessage
	if err := c.get(of.path, query, &answer); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(answer[of.name], &items); err != nil {
		return nil, false, fmt.Errorf("read the answer of %s: %w", c.base, err)
	}
	return items, string(answer["more"]) == "true", nil
}

// pages reads up to limit items of a list. behind names the item after which the next page begins; nil: pages have
// numbers.
func pages[T any](
	c *client, of collection, query url.Values, limit int, behind func(item *T) string,
) (all []T, err error) {
	size := strconv.Itoa(min(limit, largestPage))
	query.Set("limit", size)
	query.Set("size", size)
	for number := 1; len(all) < limit; number++ {
		query.Set("page", strconv.Itoa(number))
		items, more, err := page[T](c, of, query)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if len(items) == 0 || !more {
			break
		}
		if behind != nil {
			query.Set("before", behind(&items[len(items)-1]))
		}
	}
	return all[:min(limit, len(all))], nil
}
