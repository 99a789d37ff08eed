// Package cluster tests sales on more than one Redis server (`just cluster`). Real processes sell on a Redis Cluster of
// three primaries with a replica each, or on a primary that three sentinels monitor. During the sale a primary is
// killed and its replica promoted, or slots are moved. The tests compare acknowledged buys with the rows and check the
// stock equation of every sale. They limit the latency of buys in unaffected partitions (liveLatencyLimit in
// failover_test.go).
//
// All files need the build tag `cluster`, because the tests take minutes. Package e2e has a short form for every test
// run. The servers are the installed Redis, or the program that STAMPEDE_TEST_REDIS_SERVER names (Valkey).
//
//   - failover_test.go: a primary of a cluster dies, with and without waiting for replicas
//   - sentinel_test.go: a primary behind sentinels dies
//   - reshard_test.go: slots are moved during the sale
//   - secure_test.go: both failovers over TLS, with accounts that have only the required permissions
package cluster
