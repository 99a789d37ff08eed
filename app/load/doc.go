// Package load simulates a crowd on a running node and measures the replies. It uses the socket protocol (package
// wsclient) from its own process, so that its memory and time do not count as the server's. Thousands of sockets share
// two event loops, because the generator takes processor time from a server on the same machine.
//
// A closed loop (no rate) sends a shopper's next op when the last one is answered: it finds the most that the server
// can do. An open loop (a rate) sends by the clock, whatever comes back, and counts each latency from the instant at
// which the op was due: a server that stalls cannot hide it (no coordinated omission).
//
// Every scenario ends with checks: no answered reservation without its order, no event lost, and an audit of the sales
// that were used. A failed check fails the run, whatever the figures are.
package load
