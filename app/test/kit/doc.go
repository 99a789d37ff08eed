// Package kit lets tests run on the real thing: Redis with AOF `always` and MariaDB with strict
// SQL and a flush per commit, on loopback, private to the test run.
//
// Most tests want [Redis] and [MySQL]: a fresh logical database each, on servers that all tests share.
// The servers are those of STAMPEDE_TEST_REDIS and STAMPEDE_TEST_MYSQL (deploy/scripts/services.sh
// starts them); without these variables each test binary starts its own pair on first use. A machine
// without the programs fails the test: nothing is skipped.
//
// Three things are shared by every logical database of a server, so tests that run in parallel meet
// there: Redis PubSub channels and the script cache, and MySQL's GET_LOCK names. Names must carry
// something of the test's own (its sale, its database), or the test takes a server of its own.
//
// Tests that kill, pause or reconfigure a server take [StartRedis] or [StartMariaDB]; tests that
// lose, delay or swallow bytes put a [Proxy] in between. A package that uses any of these has
//
//	func TestMain(m *testing.M) { kit.Main(m) }
//
// which stops what was started and then fails the run if goroutines are left.
package kit
