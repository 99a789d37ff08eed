// Package load presses on a running node as a crowd would, and measures what comes back. It speaks the socket
// protocol like any client (of wsclient, which it shares the frames with), from a process of its own, so that
// neither its memory nor its bookkeeping counts as the server's. Thousands of sockets share two event loops instead of
// having a goroutine each: on a machine that the server shares with it, what the generator does not use is the
// server's.
//
// A closed loop (no rate) sends a shopper's next op when the last one is answered: it finds the most that the server
// can do. An open loop (a rate) sends by the clock, whatever comes back, and counts each latency from the instant at
// which the op was due: a server that stalls cannot hide it (no coordinated omission).
//
// Every scenario ends with checks: no answered reservation without its order, no event lost, and an audit of the sales
// that were used. A failed check fails the run, whatever the figures are.
package load
