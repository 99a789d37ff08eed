// Package server is the program as a value: it reads the configuration, opens the stores, puts the flows together and
// runs their duties until it is told to stop.
//
//	config*.go     every variable, its limits, what is wrong with it; those of a subject are in its file (money.go …)
//	server.go      New, Run, Close: the order in which things start and stop
//	listeners.go   the public and the private listener, readiness
//	compose.go     how the parts are connected; services.go: what routes and sockets call
//	duties.go      what runs in the background, by role
//	stores.go      real and embedded stores; durability.go: what their promises rest on
//	tools*.go      the same parts for commands that run beside a server
//	system_*.go    what differs by operating system
package server
