// Package store is the durable truth: orders, sales and the catalogue in MySQL or MariaDB, or in SQLite for
// the embedded default. It implements the interfaces of the flows, serves archive, privacy and backoffice directly, and
// leases node numbers for ids.
//
// Rules that every statement here keeps:
//
//   - An order's row is written once, and is in orders or in orders_archive, never in both or none (archive_read.go); a
//     state changes only under a condition, and what changed is known from row counts or from a lock, never from a
//     read before it (I1, I5). An operator may delete whole months of the archive (archive_drop.go).
//   - The sale's column taken moves only in the transaction that writes or flips the row it counts (I5).
//   - Locks are taken on orders by id, then on sales by id, so that no two transactions wait in a circle.
//   - READ COMMITTED: nothing is decided by a snapshot, and without gap locks consumers that insert side by side
//     do not block each other. Only SaleTotals wants a snapshot and asks for REPEATABLE READ.
//   - The database's clock stamps a row with each new state of it (F1); a change that makes none says so (see
//     unstamped).
//   - Methods named Lock… keep a row from changing until the operator's act ends, and make editors of the catalogue take
//     turns. Methods named Save… must be called within such an act.
//   - Every error wraps shop.ErrTransient, ErrPermanent, ErrStaleEpoch, ErrNoRow or ErrArchived, or is an *shop.Error (see fault.go).
package store
