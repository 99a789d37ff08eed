// Package load simulates a crowd on a running node and measures the replies. It uses the socket protocol (package
// wsclient) from a separate process, so that its memory and processor time do not count as the server's. Thousands of
// sockets share two event loops, because more loops would take processor time from a server on the same machine.
//
// A closed loop (no rate) sends a shopper's next op after the reply to the last op. It finds the maximum throughput of
// the server. An open loop (a rate) sends by the clock, independent of replies. It measures each latency from the
// instant at which the op was due, so the latencies include each stall of the server (no coordinated omission).
//
// Every scenario ends with checks: each reservation has its order, no event is lost, and an audit of the used sales
// succeeds. A failed check fails the run, independent of its figures.
package load
