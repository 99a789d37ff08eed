// Package faults makes calls to the stores and to the gateway fail. A [Fault] sees each call and lets it happen or not;
// what it returns is what the caller gets.
//
//   - store.go: the transactions of the database
//   - redis.go: the commands and scripts of a Redis client
//   - gateway.go: the calls of a payment gateway
//   - points.go: the places at which package app/test/crash kills a process, each a call of those and a function
//   - arm.go: a fault that strikes at one of them
//
// Package app/test/money has processes die after their n-th call, whatever it is. A program contains this package only
// if it is built for the crash suite (tag crashpoints).
package faults
