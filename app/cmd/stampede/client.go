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
	// clientTimeout limits one request. The server limits most requests to a much shorter time.
	clientTimeout = time.Minute
	// maxPage is the largest number of items in one response of the API.
	maxPage = 100
	// maxResponse limits a response, in bytes. The largest is an export of all products.
	maxResponse = 256 << 20
)

// client calls the HTTP API for one command. It is not safe for concurrent use.
type client struct {
	env        *env   // environment of the command
	base       string // without a trailing slash
	token      string
	saved      *sessions // sessions of `stampede login`; nil: the token is from STAMPEDE_TOKEN
	http       *http.Client
	key        string // idempotency key of the command
	note       string
	operations map[string]int // number of changing requests of this command, by method and path
}

// read runs a command that reads from a server.
func (e *env) read(r readFlags, action func(c *client) error) error {
	return e.operate(operationFlags{keyFlags: keyFlags{readFlags: r}}, action)
}

// operate runs a command that changes data on a server.
func (e *env) operate(o operationFlags, action func(c *client) error) error {
	if o.Key == "" {
		o.Key = "cli-" + strings.ToLower(rand.Text())
	}
	if err := journal.CheckOperationKey(o.Key); err != nil {
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
		c.token = c.saved.ByServer[c.base].Access
	}
	if c.token == "" {
		return fmt.Errorf("not logged in at %s: run stampede login, or set STAMPEDE_TOKEN", c.base)
	}
	e.shop = c
	return errors.Join(action(c), e.zoneErr)
}

// client returns a client without a token.
func (e *env) client(server string) (*client, error) {
	server = cmp.Or(server, e.variable("STAMPEDE_URL"), defaultServer)
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: the server address is %q, want http://host:port or https://host", errUsage, server)
	}
	if u.Scheme == "http" && !shop.IsLocalHost(u.Hostname()) {
		return nil, fmt.Errorf("%w: %s would get passwords and tokens unencrypted: use https", errUsage, u.Host)
	}
	return &client{env: e, base: u.Scheme + "://" + u.Host, http: &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}, Timeout: clientTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// variable returns the value of an environment variable; "" if it is not set.
func (e *env) variable(name string) (value string) {
	for _, line := range e.environ { // the last entry wins
		if text, found := strings.CutPrefix(line, name+"="); found {
			value = text
		}
	}
	return value
}

// get reads from a route for operators.
func (c *client) get(path string, query url.Values, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(http.MethodGet, operatorPath+path, nil, into)
}

// change sends a change to a route for operators.
func (c *client) change(method, path string, body, into any) error {
	return c.call(method, operatorPath+path, body, into)
}

// call sends a request. If a saved access token has expired, call renews it and repeats the request once. A []byte body
// is sent as a file, other bodies as JSON. A response into *[]byte is not decoded.
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

// keyOf derives the key of an operation from the key of the command. A repeated command therefore repeats each of its
// operations, independently of their order.
func (c *client) keyOf(operation string) string {
	if c.operations == nil {
		c.operations = make(map[string]int)
	}
	c.operations[operation]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", operation, c.operations[operation]))
	return fmt.Sprintf("%.51s-%s", c.key, hex.EncodeToString(sum[:6]))
}

// encode returns the body of a request and its content type. It omits null fields, because null has a meaning in some
// routes, and adds the note.
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

// request contains the input of send.
type request struct {
	method, path string
	kind         string // content type
	key          string // idempotency key; may be empty
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
		return fmt.Errorf("cannot reach the server: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return fmt.Errorf("read the response of %s: %w", c.base, err)
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
		return fmt.Errorf("read the response of %s: %w", c.base, err)
	}
	return nil
}

// failureOf returns the error in a response.
func failureOf(res *http.Response, text []byte) error {
	var body struct {
		Error *struct {
			shop.Error
			Request string `json:"request"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Error == nil || body.Error.Code == "" {
		if to := res.Header.Get("Location"); to != "" {
			return fmt.Errorf("the server redirects to %s: set --server to that address", to)
		}
		return fmt.Errorf("the server returns %s, which is not a response of Stampede", res.Status)
	}
	if body.Error.Code == shop.Internal || body.Error.Code == shop.Busy { // the server's log contains the cause
		return fmt.Errorf("%w (request %s)", &body.Error.Error, body.Error.Request)
	}
	return &body.Error.Error
}

// version returns `known`, or the current version of the object if `known` is 0.
func (c *client) version(path string, known int64) (int64, error) {
	if known != 0 {
		return known, nil
	}
	var object struct {
		Version int64 `json:"version"`
	}
	err := c.get(path, nil, &object)
	return object.Version, err
}

// zone reads the time zone of the shop.
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

// collection is a list at a route for operators; name is the JSON field of the list.
type collection struct{ path, name string }

// page reads one page of a list. more reports whether further items exist.
func page[T any](c *client, source collection, query url.Values) (items []T, more bool, err error) {
	var response map[string]json.RawMessage
	if err := c.get(source.path, query, &response); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(response[source.name], &items); err != nil {
		return nil, false, fmt.Errorf("read the response of %s: %w", c.base, err)
	}
	return items, string(response["more"]) == "true", nil
}

// pages reads up to `limit` items of a list. The function `cursor` returns the cursor of the next page from the last
// item; nil: pages have numbers.
func pages[T any](
	c *client, source collection, query url.Values, limit int, cursor func(item *T) string,
) (all []T, err error) {
	size := strconv.Itoa(min(limit, maxPage))
	query.Set("limit", size)
	query.Set("size", size)
	for number := 1; len(all) < limit; number++ {
		query.Set("page", strconv.Itoa(number))
		items, more, err := page[T](c, source, query)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
		if len(items) == 0 || !more {
			break
		}
		if cursor != nil {
			query.Set("before", cursor(&items[len(items)-1]))
		}
	}
	return all[:min(limit, len(all))], nil
}
