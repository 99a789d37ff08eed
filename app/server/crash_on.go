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

// A build for the crash suite can be told to die at a point (package faults): STAMPEDE_CRASH_AT=NAME, or NAME#n for its
// n-th pass. With freeze: in front it stands still there (SIGSTOP) until somebody lets it go on.

// armed is the point; nil: none.
var armed atomic.Pointer[faults.Armed]

func armCrash(vars map[string]string, p *problems) {
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
	armed.Store(a)
}

// die ends the process without a last word: no deferred function runs, nothing is flushed.
func die(point string) {
	strike(point, syscall.SIGKILL)
	select {} // the signal is on its way; nothing more may happen here
}

func freeze(point string) { strike(point, syscall.SIGSTOP) }

func strike(point string, signal syscall.Signal) {
	fmt.Fprintln(os.Stderr, "crash point", point)
	if err := syscall.Kill(os.Getpid(), signal); err != nil {
		panic(fmt.Sprintf("crash point %s: %v", point, err))
	}
}

func hookStore(db *store.Store) {
	if a := armed.Load(); a != nil {
		db.Around = faults.Transactions(a.Fault)
	}
}

func hookRedis(clients ...redis.UniversalClient) {
	if a := armed.Load(); a != nil {
		for _, c := range clients {
			c.AddHook(faults.Redis(a.Fault))
		}
	}
}

func hookGateway(g payment.Gateway) payment.Gateway {
	if a := armed.Load(); a != nil {
		return faults.Gateway(g, a.Fault)
	}
	return g
}
