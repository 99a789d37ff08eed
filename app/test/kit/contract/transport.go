package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"stampede/app/shop"
)

// Transport sends requests. It fails the test if a request or its response differs from the description.
type Transport struct {
	T    testing.TB
	Base http.RoundTripper // nil: one connection per request
	// AnyCode accepts error codes that are not documented for the operation. Tests that make
	// the flows fail in every possible way need it.
	AnyCode bool
}

// Client returns an HTTP client whose traffic is checked.
func Client(t testing.TB, timeout time.Duration) *http.Client {
	return &http.Client{Transport: &Transport{T: t}, Timeout: timeout}
}

var plainTransport = &http.Transport{DisableKeepAlives: true}

// RoundTrip implements http.RoundTripper. It reads the whole response body.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	base := t.Base
	if base == nil {
		base = plainTransport
	}
	res, err := base.RoundTrip(req)
	if err != nil || res.StatusCode == http.StatusSwitchingProtocols {
		return res, err
	}
	got, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(got))
	if err != nil {
		return nil, err
	}
	if err := Check(Exchange{req, sent, res, got, t.AnyCode}); err != nil {
		t.T.Errorf("%s %s got %d %.300s\nwhich does not match openapi.yaml: %v",
			req.Method, req.URL.RequestURI(), res.StatusCode, got, err)
	}
	return res, nil
}

// Exchange is a request and its response.
type Exchange struct {
	Request  *http.Request
	Sent     []byte
	Response *http.Response
	Got      []byte
	AnyCode  bool
}

// Check reports how an exchange differs from its description.
func Check(x Exchange) error {
	doc, err := Document()
	if err != nil {
		return err
	}
	if err := checkHeaders(x.Response); err != nil {
		return err
	}
	template, item, params := findOperation(doc, x.Request.Method, x.Request.URL.Path)
	if item == nil {
		return x.checkUndocumented(doc)
	}
	op := item.GetOperation(x.Request.Method)
	if op.Responses.Status(http.StatusSwitchingProtocols) != nil && x.Response.StatusCode < http.StatusBadRequest {
		return nil // a WebSocket, or a test's replacement of it
	}
	input := &openapi3filter.RequestValidationInput{
		Request: x.clone(), PathParams: params,
		Route: &routers.Route{
			Spec: doc, Path: template, PathItem: item, Method: x.Request.Method, Operation: op,
		},
		Options: &openapi3filter.Options{
			AuthenticationFunc: hasBearer, SkipSettingDefaults: true,
			ExcludeRequestBody: op.Extensions["x-refuses-with-200"] == true,
		},
	}
	if x.Response.StatusCode < http.StatusBadRequest {
		if err := openapi3filter.ValidateRequest(x.Request.Context(), input); err != nil {
			return fmt.Errorf("the request should have been rejected: %w", err)
		}
	}
	response := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: x.Response.StatusCode, Header: x.Response.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	response.SetBodyBytes(x.Got)
	if err := openapi3filter.ValidateResponse(x.Request.Context(), response); err != nil {
		return err
	}
	if x.AnyCode {
		return x.checkFailure(doc, nil)
	}
	return x.checkFailure(doc, codesOf(op))
}

// CheckRejected checks a rejected WebSocket handshake.
func CheckRejected(res *http.Response, got []byte) error {
	request, err := http.NewRequest(http.MethodGet, "http://shop/ws", nil)
	if err != nil {
		return err
	}
	return Check(Exchange{Request: request, Response: res, Got: got})
}

// checkUndocumented checks an exchange without a documented operation. Under /api/ the server must
// reject the request. For other paths it may return the page, also with status 404 to a client that accepts HTML.
func (ex *Exchange) checkUndocumented(doc *openapi3.T) error {
	inAPI := strings.HasPrefix(ex.Request.URL.Path, "/api/")
	isHTML := strings.HasPrefix(ex.Response.Header.Get("Content-Type"), "text/html")
	acceptsHTML := strings.Contains(ex.Request.Header.Get("Accept"), "text/html")
	if !inAPI && isHTML && acceptsHTML && ex.Response.StatusCode == http.StatusNotFound {
		return nil
	}
	if ex.Response.StatusCode >= http.StatusBadRequest {
		if ex.AnyCode {
			return ex.checkFailure(doc, nil)
		}
		return ex.checkFailure(doc, append(commonCodes[:len(commonCodes):len(commonCodes)], shop.NotFound))
	}
	if inAPI {
		return errors.New("openapi.yaml has no such operation")
	}
	return nil
}

// clone returns the request as it was sent. The server reads a body without Content-Type as JSON.
func (ex *Exchange) clone() *http.Request {
	req := ex.Request.Clone(ex.Request.Context())
	req.Body = io.NopCloser(bytes.NewReader(ex.Sent))
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// checkFailure checks that an error response has the documented form. A nil known accepts any code.
func (ex *Exchange) checkFailure(doc *openapi3.T, known []shop.Code) error {
	kind := ex.Response.Header.Get("Content-Type")
	if ex.Response.StatusCode < http.StatusBadRequest || ex.Request.Method == http.MethodHead ||
		strings.HasPrefix(kind, "text/plain") {
		return nil
	}
	var failure struct{ Error failureBody }
	var value any
	if err := errors.Join(json.Unmarshal(ex.Got, &failure), json.Unmarshal(ex.Got, &value)); err != nil {
		return fmt.Errorf("an error response must be JSON: %w", err)
	}
	if err := doc.Components.Schemas["Failure"].Value.VisitJSON(value); err != nil {
		return err
	}
	e := failure.Error
	if id := ex.Response.Header.Get("X-Request-Id"); e.Request != id {
		return fmt.Errorf("the failure names request %q, its header %q", e.Request, id)
	}
	if known != nil && !slices.Contains(known, e.Code) {
		return fmt.Errorf("the operation does not declare the code %s (x-errors)", e.Code)
	}
	status := ex.Response.StatusCode
	if status != StatusOf(doc, e.Code) && (e.Code != shop.BadRequest || !slices.Contains(badRequestStatuses, status)) {
		return fmt.Errorf("%s has the status %d in the table of codes", e.Code, StatusOf(doc, e.Code))
	}
	return nil
}

type failureBody struct {
	Code    shop.Code
	Request string
}

// hasBearer checks only that a bearer token is present, because the description does not define valid tokens.
func hasBearer(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	got := in.RequestValidationInput.Request.Header.Get("Authorization")
	if scheme, token, _ := strings.Cut(got, " "); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return in.NewError(errors.New("no bearer token"))
	}
	return nil
}

var requestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// securityHeaders maps headers that every response must have to a part of their value.
var securityHeaders = map[string]string{
	"Content-Security-Policy":      "default-src 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=()",
}

func checkHeaders(res *http.Response) error {
	if id := res.Header.Get("X-Request-Id"); !requestID.MatchString(id) {
		return fmt.Errorf("X-Request-Id is %q", id)
	}
	for name, part := range securityHeaders {
		if got := res.Header.Get(name); !strings.Contains(got, part) {
			return fmt.Errorf("%s is %q, want %q in it", name, got, part)
		}
	}
	return nil
}
