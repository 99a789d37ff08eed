// Package api is the platform over HTTP: thin routes under /api/v1 with one flow call each, the page, and the guard in
// front of the socket. It only decides who may pass and how an answer is encoded.
//
//	http_server.go, handshake.go  the HTTP server, also before the shop is open; conns.go: connections per address
//	api.go                        all routes; errors.go: the table from code to status
//	body.go, request_id.go, security_headers.go  rules for every request and answer
//	admit.go, auth.go, limit.go   who may open a socket, who the caller is, how often
//	operator*.go                  routes of operators
//	spec/                         the OpenAPI description and the page made of it
package api
