// Package catalog has the data that shoppers see: a snapshot of products, slots and sales per node, pages of it, live
// counters, phase changes of slots, and the warm-up of a sale. Promise: shown data are at most about one second old
// (I11), and the last snapshot stays while the database is unavailable.
//
//	database ── version, every 500 ms ─▶ [Catalogue] ─▶ [Storefront] (pages), [Ticker] (numbers), [PhaseWatcher] (edges)
//	a sale before its opening ─▶ [Warmer] ─▶ Redis, created once (I7)
package catalog
