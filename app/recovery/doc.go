// Package recovery finds and repairs what differs between the stores. The [Auditor] proves the stock equation of a
// sale. The [Reconciler] repairs what single calls have lost: overdue orders, open holds, counters. An operator decides
// about [DeadLetters].
//
// Its largest part restores the state of a partition after a store has lost writes: a replica of the database or of
// Redis was promoted, a backup was restored, or Redis is empty (P1, P2, P8, I8).
//
//	look ─▶ fine: trust it, raise the beat                                                  look.go, driver.go
//	    └─▶ lost: new generation of the database, pending orders watched for money          history.go
//	         └─▶ per partition, under one lock and one claim:                               pass.go
//	             close ─▶ import ─▶ end ─▶ write ─▶ compare │ restore ─▶ open
//	                      import.go end.go write.go compare.go restore.go
//
// What the steps rest on. Redis keeps its own equation: holds + stock + withdrawn = initial + added. So once the
// database has given back the units whose holds are gone, every row that it lacks fits, in any order. A hold that is
// gone proves that the order ended, if this Redis has accepted it and has lost nothing, because units go back only
// after a committed final row (I1). A hold without a row proves an order. Redis knows nothing of payments that were
// opened and refunds that were sent, so the gateway is asked about every order that was pending, at its normal pace and
// after the partition is open.
//
// Each step may be repeated: after a crash, a second failover, or beside another recovery, the procedure starts again
// from the same evidence. From the close on, no transaction of the old epoch takes units or writes a row, and no script
// of it changes Redis. Until the partition is open Redis is only read, apart from the state of the partition.
//
// No node takes an epoch from Redis into its database: a node that is still connected to a database that was replaced
// would continue under it.
package recovery
