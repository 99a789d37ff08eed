// Package catalog is what shoppers see: a snapshot of products, slots and sales per node, pages of it, live numbers,
// the edges of slots, and the warm-up of a sale. The promise: what is shown is at most about one second old (I11), and
// a database that is away leaves the last snapshot.
//
//	database ── version, every 500 ms ─▶ [Catalogue] ─▶ [Storefront] (pages), [Ticker] (numbers), [PhaseWatcher] (edges)
//	a sale before its opening ─▶ [Warmer] ─▶ Redis, created once (I7)
package catalog
