// Package shop has the terms that all other packages share: IDs, money, time, errors; products, slots and sales; orders
// and their states; holds, entries and messages. It contains no flow and does no I/O.
//
// Start with [Order] and [OrderState] (the states of an order), [Sale] and [Counters], [Buy] and [GateResult] (input
// and output of the Lua step), [Entry] (a reservation in the stream), and [Error] (the error that a client receives).
package shop
