// Package shop has the terms that all other packages share: ids, money, time, errors; products, slots and sales; orders
// and their states; holds, entries and messages. It contains no flow and contacts nothing.
//
// Where to begin: [Order] and [OrderState] (the states of an order), [Sale] and [Counters], [Buy] and [GateAnswer]
// (what goes into the Lua step and comes out of it), [Entry] (a reservation in the stream), [Error] (what a client is
// told).
package shop
