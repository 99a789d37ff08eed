// Package api is the platform over HTTP: thin routes under /api/v1 with one flow call each, the page, and the guard
// in front of the socket. It decides nothing but who may pass and how an answer is worded.
//
//	http_server.go     the HTTP server; what is said before the shop is open
//	api.go       all routes on one screen
//	errors.go    the one table from code to status
//	request_id.go, security_headers.go   what every answer carries
//	spec/        what all of it promises, and the page made of that
//	body.go      bodies come as they are, or not at all
//	admit.go      who may open a socket; auth.go: who is asking; limit.go: how often; conns.go: how many at once
//	forwarded.go what is said for whom a proxy asks, by a proxy that nobody has named
package api
