// Package contract holds HTTP traffic of tests against app/api/spec/openapi.yaml: a client made here checks every
// request that the server accepted, and every answer, and fails the test that sent it.
//
// It is stricter than a client of the shop should be: a field, an error code or a route that the document does not know
// is a failure, so that nothing is added without being described.
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

// Document is the description of the HTTP surface, read once. It must not be changed.
var Document = sync.OnceValues(func() (*openapi3.T, error) { return Read(spec.OpenAPI) })

// Read reads and checks a description, and closes its objects: what they do not name must not be there.
func Read(text []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, fmt.Errorf("check the description: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		closeObject(doc.Components.Schemas[name].Value)
	}
	return doc, nil
}

// closeObject forbids further fields. An object put together of several becomes one: each of its parts would refuse the
// fields of the others.
func closeObject(s *openapi3.Schema) {
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

// find answers the operation behind method and path, with the path as the document spells it and its parameters; nil
// when the document has none.
func find(doc *openapi3.T, method, path string) (template string, item *openapi3.PathItem, params map[string]string) {
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

// everywhere are the codes that any operation may answer; forbidden, to whom the shop keeps out.
var everywhere = []shop.Code{shop.BadRequest, shop.Forbidden, shop.RateLimited, shop.Busy, shop.Internal}

// codesOf are the error codes that the operation is said to answer.
func codesOf(op *openapi3.Operation) []shop.Code {
	codes := slices.Clone(everywhere)
	if op.Security != nil {
		codes = append(codes, shop.Unauthorized)
	}
	listed, _ := op.Extensions["x-errors"].([]any)
	for _, code := range listed {
		codes = append(codes, shop.Code(fmt.Sprint(code)))
	}
	return codes
}

// StatusOf is the status of a code, as the document says; 0 when it does not know the code.
func StatusOf(doc *openapi3.T, code shop.Code) int {
	table, _ := doc.Components.Schemas["Code"].Value.Extensions["x-codes"].(map[string]any)
	row, _ := table[string(code)].(map[string]any)
	status, _ := row["status"].(float64)
	if whole, ok := row["status"].(int); ok {
		return whole
	}
	return int(status)
}

// unreadable are the further statuses of bad_request: what is wrong is the request itself.
var unreadable = []int{
	http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge,
	http.StatusUnsupportedMediaType, http.StatusUpgradeRequired, http.StatusRequestHeaderFieldsTooLarge,
}
