package contract

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Sample returns an example request body of an operation, with all required fields. It uses the document's own
// examples. It returns "" if the operation has no body.
func Sample(op *openapi3.Operation) (string, error) {
	if op.RequestBody == nil || op.RequestBody.Value.Content.Get("application/json") == nil {
		return "", nil
	}
	text, err := json.Marshal(sample(op.RequestBody.Value.Content.Get("application/json").Schema.Value))
	return string(text), err
}

func sample(s *openapi3.Schema) any {
	switch {
	case s.Example != nil:
		return s.Example
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AllOf) == 1:
		return sample(s.AllOf[0].Value)
	case s.Type.Is(openapi3.TypeObject):
		members := make(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) {
				members[name] = sample(s.Properties[name].Value)
			}
		}
		return members
	case s.Type.Is(openapi3.TypeArray):
		return []any{sample(s.Items.Value)}
	case s.Type.Is(openapi3.TypeInteger), s.Type.Is(openapi3.TypeNumber):
		return 1
	case s.Type.Is(openapi3.TypeBoolean):
		return true
	}
	return "text"
}
