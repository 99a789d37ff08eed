// Package contract checks the HTTP traffic of tests against app/api/spec/openapi.yaml. Its client checks every response
// and every request that the server accepted. It fails the test that sent the request.
//
// The package is stricter than a client of the shop should be. A field, error code or route that is not in the document
// is a failure, so that every addition is documented.
package contract

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"stampede/app/api/spec"
	"stampede/app/shop"
)

// Document returns the description of the HTTP API. It is parsed once and must not be modified.
var Document = sync.OnceValues(func() (*openapi3.T, error) { return Read(spec.OpenAPI) })

// Read parses and validates a description. It forbids undeclared fields in all objects.
func Read(text []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("check the description: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		forbidExtraFields(doc.Components.Schemas[name].Value)
	}
	return doc, nil
}

// forbidExtraFields forbids undeclared fields. It merges the parts of an allOf into one object, because each closed
// part would reject the fields of the others.
func forbidExtraFields(s *openapi3.Schema) {
	if s.Type == nil && len(s.AllOf) > 1 {
		s.Type, s.Properties = &openapi3.Types{openapi3.TypeObject}, make(openapi3.Schemas)
		for _, part := range s.AllOf {
			maps.Copy(s.Properties, part.Value.Properties)
			s.Required = append(s.Required, part.Value.Required...)
		}
		s.AllOf = nil
	}
	if s.Type.Is(openapi3.TypeObject) && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
		s.AdditionalProperties.Has = new(bool)
	}
}

// findOperation returns the operation for method and path: its path template, path item and path parameters. It returns
// nil if the document has no such operation.
func findOperation(doc *openapi3.T, method, path string) (
	template string, item *openapi3.PathItem, params map[string]string,
) {
	for template, item := range doc.Paths.Map() {
		if params, ok := match(template, path); ok && item.GetOperation(method) != nil {
			return template, item, params
		}
	}
	return "", nil, nil
}

func match(template, path string) (params map[string]string, ok bool) {
	names, values := strings.Split(template, "/"), strings.Split(path, "/")
	if len(names) != len(values) {
		return nil, false
	}
	params = make(map[string]string)
	for i, name := range names {
		if strings.HasPrefix(name, "{") {
			params[strings.Trim(name, "{}")] = values[i]
			continue
		}
		if name != values[i] {
			return nil, false
		}
	}
	return params, true
}

// commonCodes lists the codes that any operation may return. Forbidden is returned to blocked clients.
var commonCodes = []shop.Code{shop.BadRequest, shop.Forbidden, shop.RateLimited, shop.Busy, shop.Internal}

// codesOf returns the error codes that the document lists for the operation.
func codesOf(op *openapi3.Operation) []shop.Code {
	codes := slices.Clone(commonCodes)
	if op.Security != nil {
		codes = append(codes, shop.Unauthorized)
	}
	listed, _ := op.Extensions["x-errors"].([]any)
	for _, code := range listed {
		codes = append(codes, shop.Code(fmt.Sprint(code)))
	}
	return codes
}

// StatusOf returns the HTTP status that the document lists for a code, or 0 for an undocumented code.
func StatusOf(doc *openapi3.T, code shop.Code) int {
	table, _ := doc.Components.Schemas["Code"].Value.Extensions["x-codes"].(map[string]any)
	row, _ := table[string(code)].(map[string]any)
	status, _ := row["status"].(float64)
	if integer, ok := row["status"].(int); ok {
		return integer
	}
	return int(status)
}

// badRequestStatuses lists the additional statuses of bad_request, for requests that are malformed as HTTP requests.
var badRequestStatuses = []int{
	http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUpgradeRequired, http.StatusRequestHeaderFieldsTooLarge,
}
