// Package recovery finds and repairs differences between the stores. The [Auditor] checks the stock equation of a sale.
// The [Reconciler] repairs lost calls: overdue orders, open holds, counters. An operator decides about [DeadLetters].
//
// The largest part restores a partition after a store has lost writes: a replica of the database or of Redis was
// promoted, a backup was restored, or Redis is empty (P1, P2, P8, I8).
//
//	inspect ─▶ nothing lost: confirm the history of Redis, raise the beat                      inspect.go, driver.go
//	    └─▶ lost: new generation of the database, query payments of pending orders          history.go
//	         └─▶ per partition, under one lock and one claim:                               pass.go
//	             close ─▶ import ─▶ end ─▶ write ─▶ compare │ restore ─▶ open
//	                      import.go end.go write.go compare.go restore.go
//
// The steps rely on these facts:
//
//   - Redis has its own equation: holds + stock + withdrawn = initial + added. After the database has released the
//     units whose holds are gone, its units suffice for all missing rows, in any order.
//   - A missing hold proves that the order ended, if this Redis has accepted the order: units are returned only after a
//     committed final row (I1). A hold without a row proves an order. This is also true if Redis has lost writes: it is
//     then an older state of the partition, because scripts are atomic and all keys of a partition are on one server.
//   - Redis does not store opened payments and sent refunds. So orders that are pending when a doubt begins end only by a
//     reply of the gateway, and the gateway is queried about them at the normal rate.
//
// Each step can be repeated: after a crash, after a second failover, or concurrently with another recovery, the
// procedure restarts from the same evidence. After the close, no transaction of the old epoch takes units or writes a
// row, and no script of the old epoch changes Redis. Until the partition is open, Redis is only read, except for the
// state of the partition.
//
// No node copies an epoch from Redis into its database: a node that is still connected to a replaced database would
// continue under that epoch.
package recovery
