// Package cluster proves what a sale is worth on more than one Redis (`just cluster`): real processes sell on a Redis
// Cluster of three primaries with a replica each, or on a primary that three sentinels watch, while a primary is killed
// and its replica promoted, or while slots are moved. What was answered to shoppers is compared with the rows, every
// sale with the stock equation, and how long buys took in the partitions that nothing happened to with the bar that
// stands in crowd_test.go.
//
// All of it is behind the build tag `cluster`, because it takes minutes; package e2e has a short form for every test
// run. Servers are the installed Redis, or what STAMPEDE_TEST_REDIS_SERVER names (Valkey).
//
//   - failover_test.go: a primary of a cluster dies, with and without waiting for replicas
//   - sentinel_test.go: the same of a primary that sentinels watch
//   - reshard_test.go: slots are moved during the sale
//   - secure_test.go: both over TLS, with accounts that may only do what the program needs
package cluster
