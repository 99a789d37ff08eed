// Package spec holds what the HTTP surface promises: openapi.yaml, written by hand, and the page made of it. The tests
// hold every request and answer against it (app/test/kit), and its routes against those of the router.
package spec

import _ "embed"

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte
