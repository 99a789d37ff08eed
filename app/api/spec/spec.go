// Package spec holds what the HTTP surface promises: openapi.yaml, written by hand. The tests hold every request and
// answer against it (app/test/kit), and its routes against those of the router. The build of the page renders it for
// people (frontend/docs).
package spec

import _ "embed" // of the file beside it

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte
