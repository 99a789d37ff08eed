// Package e2e tests the real program from outside: the built binary as a process, real Redis (AOF always) and MariaDB,
// and clients over sockets and HTTP. Each test names the promise that it guards.
package e2e
