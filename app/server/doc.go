// Package server is the program as a value: it reads the configuration, opens the stores, puts the flows together and
// runs their duties until it is told to stop.
//
//	config*.go     every variable, its limits, what is wrong with it
//	server.go      New, Run, Close: the order in which things start and stop
//	compose.go     who is connected to whom
//	duties.go      what runs in the background, by role
//	stores.go      real and embedded stores; durability.go: what their promises rest on
//	tools*.go      the same parts for commands that run beside a server
//	system_*.go    what differs by operating system
package server
