// Package api serves the platform over HTTP: thin routes under /api/v1 with one service call each, the page, and the
// checks before a socket opens. It only decides which requests are admitted and how responses are encoded.
//
//	http_server.go, handshake.go  the HTTP server, also before the shop is open; conns.go: connections per address
//	api.go                        all routes; errors.go: the table from code to status
//	body.go, request_id.go, security_headers.go  rules for every request and response
//	admit.go, auth.go, limit.go   admission of sockets, identity of callers, rate limits
//	page.go, sale_page.go         files of the page, and the page of one sale
//	operator*.go                  routes of operators
//	spec/                         the OpenAPI description, from which the documentation page is built
package api
