//go:build crashpoints

package server

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"

	"stampede/app/payment"
	"stampede/app/store"
	"stampede/app/test/faults"
)

// Builds for the crash suite can crash at a named point (package faults): STAMPEDE_CRASH_AT=NAME, or NAME#n for its
// n-th execution. With the prefix `freeze:` the process stops there (SIGSTOP) until it receives SIGCONT.

// crashPoint is the configured crash point; nil: none.
var crashPoint atomic.Pointer[faults.Armed]

func setCrashPoint(vars map[string]string, p *problems) {
	at, ok := vars["CRASH_AT"]
	if !ok {
		return
	}
	delete(vars, "CRASH_AT")
	a, err := faults.Arm(at, die, freeze)
	if err != nil {
		p.add("CRASH_AT", "cannot be armed: "+err.Error())
		return
	}
	crashPoint.Store(a)
}

// die kills the process: no deferred function runs and nothing is flushed.
func die(point string) {
	sendSignal(point, syscall.SIGKILL)
	select {} // no further code may run before the signal arrives
}

func freeze(point string) { sendSignal(point, syscall.SIGSTOP) }

func sendSignal(point string, signal syscall.Signal) {
	fmt.Fprintln(os.Stderr, "crash point", point)
	if err := syscall.Kill(os.Getpid(), signal); err != nil {
		panic(fmt.Sprintf("crash point %s: %v", point, err))
	}
}

func hookStore(db *store.Store) {
	if a := crashPoint.Load(); a != nil {
		db.WrapTransaction = faults.Transactions(a.Fault)
	}
}

func hookRedis(clients ...redis.UniversalClient) {
	if a := crashPoint.Load(); a != nil {
		for _, c := range clients {
			c.AddHook(faults.Redis(a.Fault))
		}
	}
}

func hookGateway(g payment.Gateway) payment.Gateway {
	if a := crashPoint.Load(); a != nil {
		return faults.Gateway(g, a.Fault)
	}
	return g
}
