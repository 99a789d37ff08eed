// Package store keeps orders, sales and the catalogue durably: in MySQL or MariaDB, or in SQLite for the embedded
// default. It implements the storage interfaces of the packages order, payment, outbox, recovery, catalog and journal.
// The packages privacy and backoffice use it directly. It also leases the node numbers for ids. All statements follow
// these rules:
//
//   - An order has one row. Only PruneOrders deletes it, long after its sale (I1).
//   - A state changes only under a condition. Code uses row locks or the number of matched rows to detect
//     a change, never an earlier read (I1, I5).
//   - The column `taken` of a sale changes only in the transaction that inserts an order or changes its state (I5).
//   - Locks are taken on orders by id, then on sales by id, so that transactions do not deadlock.
//   - Transactions run at READ COMMITTED. No decision relies on a snapshot. Without gap locks, consumers that insert
//     concurrently do not block each other. Only the sums of SaleTotals and SumSale need a snapshot and use REPEATABLE
//     READ.
//   - Each new state of a row sets its changed_at by the database's clock (F1). Changes without a new state keep it
//     (see keepChangedAt).
//   - Methods named Lock… lock a row until the operator's operation ends, and serialise editors of the catalogue.
//     Methods named Save… must be called within such an operation.
//   - Every error of the database wraps shop.ErrTransient, ErrPermanent, ErrStaleEpoch or ErrNoRow, or is an
//     *shop.Error (see fault.go).
package store
