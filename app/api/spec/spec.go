// Package spec contains the contract of the HTTP API: openapi.yaml, written by hand. Tests validate every request and
// response against it (app/test/kit), and compare its routes with the router. The build of the page renders the file
// (frontend/docs).
package spec

import _ "embed" // openapi.yaml

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte
