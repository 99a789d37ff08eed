// Package spec holds what the HTTP surface promises: openapi.yaml, written by hand, and the page made of it. The tests
// hold every request and answer against it (app/test/kit), and its routes against those of the router.
package spec

import _ "embed" // of the files beside it

// OpenAPI is the description of all routes.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Page tells people what OpenAPI and realtime.AsyncAPI tell programs. It is made of them by a test (docs_test.go) and
// kept, so that the program needs no parser of YAML.
//
//go:embed docs.html
var Page []byte

// Style is the style sheet of Page: the security policy allows none in it.
//
//go:embed docs.css
var Style []byte
