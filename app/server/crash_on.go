//go:build crashpoints

package server

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"

	"stampede/app/test/faults"
)

// A build for the crash suite can be told to die at a point (package faults): STAMPEDE_CRASH_AT=NAME, or NAME#n for its
// n-th pass. With freeze: in front it stands still there (SIGSTOP) until somebody lets it go on.

// armed is the point; nil: none, and nothing is put between the flows and their ports.
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

func withFaults(p storePorts) storePorts {
	a := armed.Load()
	if a == nil {
		return p
	}
	p.inventory = faults.Inventory(p.inventory, a.Fault)
	p.notifier = faults.Notifier(p.notifier, a.Fault)
	p.recovery = faults.Recovery(p.recovery, a.Fault)
	p.acts = faults.Acts(p.acts, a.Fault)
	p.orders = faults.Orders(p.orders, a.Fault)
	p.sales = faults.Sales(p.sales, a.Fault)
	p.editor = faults.SaleEditor(p.editor, a.Fault)
	p.keeper = faults.SaleKeeper(p.keeper, a.Fault)
	p.payments = faults.Payments(p.payments, a.Fault)
	p.refunds = faults.Refunds(p.refunds, a.Fault)
	p.shipments = faults.Shipments(p.shipments, a.Fault)
	p.outbox = faults.Outbox(p.outbox, a.Fault)
	p.archive = faults.Archive(p.archive, a.Fault)
	p.paid = faults.OutboxStream(p.paid, a.Fault)
	p.gateway = faults.Gateway(p.gateway, a.Fault)
	return p
}

func hookScripts(clients ...redis.UniversalClient) {
	if a := armed.Load(); a != nil {
		for _, c := range clients {
			c.AddHook(a.Scripts())
		}
	}
}
