// Package kit lets tests run on real servers: Redis with AOF `always`, and MariaDB with strict SQL and a flush per
// commit. The servers listen on loopback and are private to the test run.
//
// Most tests need [Redis] and [MySQL]. Each returns a new logical database on a server that all tests share. The
// variables STAMPEDE_TEST_REDIS and STAMPEDE_TEST_MYSQL name the shared servers (deploy/scripts/services.sh starts
// them). Without these variables each test binary starts its own servers on first use. If a server program is not
// installed, the test fails; it is never skipped.
//
// All logical databases of a server share Redis Pub/Sub channels, the Redis script cache and MySQL's GET_LOCK names.
// Parallel tests must therefore use unique names, for example with their sale or database, or start a private server.
//
// Tests that kill, pause or reconfigure a server use [StartRedis] or [StartMariaDB]. Tests that lose, delay or block
// bytes put a [Proxy] between the program and the server. A package that uses a private server or a proxy has
//
//	func TestMain(m *testing.M) { kit.Main(m) }
//
// which stops the started servers and then fails the run if goroutines are left.
package kit
