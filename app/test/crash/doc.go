// Package crash tests from outside that no data is lost (`just crash`). Real processes on a real Redis and MariaDB are
// killed, disconnected and frozen during a sale. Afterwards the history of the clients is compared with the stores.
//
// The package itself is the comparison: [Check] returns every promise that a [History] and a [Final] violate. It is
// pure, and its tests show that each rule can fail. The code that produces histories has the build tag `crashpoints`,
// because it needs a program with crash points (package faults):
//
//   - points_test.go: one run per crash point
//   - paying_test.go: crash points of payments, with a gateway that outlives the program
//   - backlog_test.go: kill -9 with a backlog of accepted reservations without a row
//   - nodes_test.go: five API nodes, three workers, two sweepers; killed, frozen, stopped and added
//   - rolling_test.go: a rolling restart of all nodes
//   - rebuilding_test.go: Redis loses a partition while orders are cancelled, expire, and are paid and refunded
//   - sweeping_test.go: kill -9 in the middle of ten thousand equal deadlines, and the delay of later ones
//   - stores_test.go: Redis and MariaDB killed in the middle of a backlog, or unusable for a minute
//   - promotions_test.go: replicas of both stores are promoted during buys, payments and refunds
//   - wire_test.go: lost replies
//   - redis_restart_test.go: Redis restarts under 18,000 sockets and misses all events of that time
//   - frozen_test.go: processes that stop and continue
//   - clock_test.go: nodes with a wrong wall clock
//   - warming_test.go: two nodes load the same sale while Redis is emptied
//
// A run depends on its seed: `just crash --seed N --point NAME` repeats one. A failed run keeps its history, the final
// state and all logs in a folder and reports its path.
package crash
