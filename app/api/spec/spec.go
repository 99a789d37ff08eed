// Package spec contains the contract of the HTTP API: openapi.yaml, written by hand. Tests validate every request and
// response against it (app/test/kit), and its routes against the router. The build of the page renders it
// (frontend/docs).
package spec

import _ "embed" // openapi.yaml

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte
