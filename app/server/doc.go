// Package server builds and runs a node: it reads the configuration, opens the stores, connects the flows and runs
// their background jobs until shutdown.
//
//	config*.go     variables, limits, validation; variables of one topic are in its file (money.go …)
//	server.go      New, Run, Close: the order of start and shutdown
//	listeners.go   the public and the private listener, readiness
//	compose.go     connections between the parts; services.go: the calls of routes and sockets
//	jobs.go        background jobs, by role
//	stores.go      real and embedded stores; durability.go: the settings on which promises depend
//	tools*.go      the same parts for commands that run beside a server
//	system_*.go    differences between operating systems
package server
