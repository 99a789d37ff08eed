// Package faults makes calls to the stores and to the gateway fail. A [Fault] intercepts each call, makes it or not,
// and chooses the error that the caller gets.
//
//   - store.go: the transactions of the database
//   - redis.go: the commands and scripts of a Redis client
//   - gateway.go: the calls of a payment gateway
//   - points.go: the places at which package app/test/crash kills a process, each defined by a call and a function
//   - arm.go: a fault that is triggered at one of these places
//
// Package app/test/money kills processes after their n-th call of any kind. A program contains this package only if it
// is built for the crash suite (tag crashpoints).
package faults
