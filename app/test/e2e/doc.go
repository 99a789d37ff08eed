// Package e2e tests the real program from outside: the built binary as a process, real Redis (AOF always)
// and MariaDB, sockets and HTTP as a client has them. Each test says which promise it guards.
package e2e
