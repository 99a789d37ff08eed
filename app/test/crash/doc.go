// Package crash proves from outside that nothing is lost (`just crash`): real processes on a real Redis and MariaDB
// are killed, cut off and frozen while people buy, and afterwards their memory of it is compared with what the
// stores say.
//
// The package itself is that comparison: [Check] takes a [History] and a [Final] and names every promise that they
// break. It is pure, and its tests show that each rule can fail. What makes histories is behind the build tag
// `crashpoints`, because it needs a program that can be told where to die (package faults):
//
//   - points_test.go: one run per crash point
//   - paying_test.go: and those of money, with a gateway that outlives the program
//   - backlog_test.go: kill -9 with a backlog of answered reservations that have no row yet
//   - nodes_test.go: five nodes for people, three workers, two sweepers, killed, frozen, stopped and added
//   - rolling_test.go: every node is restarted in order, one after the other
//   - rebuilding_test.go: Redis loses a partition while orders are cancelled, expire, and are paid and refunded
//   - sweeping_test.go: kill -9 in the middle of ten thousand equal deadlines, and the second after it
//   - stores_test.go: Redis and MariaDB killed in the middle of a backlog, or unfit for a minute
//   - promotions_test.go: replicas of both stores are promoted while people buy, pay and get their money back
//   - wire_test.go: lost replies
//   - full_house_test.go: Redis restarts under 18,000 sockets, and nobody was told what happened meanwhile
//   - frozen_test.go: processes that stop and go on
//   - clock_test.go: nodes whose wall clock is wrong
//   - warming_test.go: two nodes load the same sale while Redis is emptied
//
// A run is made from its seed: `just crash --seed N --point NAME` repeats one. A run that fails keeps its history, the
// final state and all logs in a folder that it names.
package crash
