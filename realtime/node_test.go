package realtime

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/test/kit"
)

// node is a hub behind a real web server on a free port.
type node struct {
	t    *testing.T
	hub  *Hub
	shop *fakeShop
	feed *feed
	addr string
}

// startNode starts a node of a new shop. change modifies the options before the start.
func startNode(t *testing.T, change ...func(o *Options)) *node {
	t.Helper()
	return startNodeOn(t, newFeed(t, kit.Redis(t)), change...)
}

// startProven starts a node, waits for a proven instant and connects user 7.
func startProven(t *testing.T, change ...func(o *Options)) (*node, *peer) {
	t.Helper()
	n := startNode(t, change...)
	n.awaitProven()
	return n, n.connect(t, 7)
}

// startWithCursor starts a node and returns a cursor with a proven instant.
func startWithCursor(t *testing.T, change ...func(o *Options)) (n *node, cursor string) {
	t.Helper()
	n = startNode(t, change...)
	n.awaitProven()
	return n, n.hub.proven.Load().text
}

// startNodeOn starts a node of an existing shop, which may have other nodes.
func startNodeOn(t *testing.T, f *feed, change ...func(o *Options)) *node {
	t.Helper()
	n := &node{t: t, shop: &fakeShop{}, feed: f}
	o := Options{
		Shop: n.shop.calls(), Redis: openRedis(t, f.url), Namespace: f.namespace, Partitions: partitions,
		Orders: f, SequenceEnds: f.SequenceEnds,
		// tests of these limits set them
		HelloWithin: testTimeout, WriteWithin: testTimeout, MessageWithin: testTimeout,
		ProbeEvery: 10 * time.Millisecond,
	}
	for _, c := range change {
		c(&o)
	}
	n.hub = NewHub(o)

	web := fiber.New(fiber.Config{DisableStartupMessage: true, Immutable: true, ReduceMemoryUsage: true})
	n.hub.Mount(web, "/ws")
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.addr = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- web.Listener(listener) }()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- n.hub.Run(ctx) }()
	t.Cleanup(func() {
		n.drain(testTimeout)
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v of the hub, want context.Canceled", err)
		}
		if err := web.Shutdown(); err != nil {
			t.Errorf("shut down: %v", err)
		}
		<-served
	})
	return n
}

func (n *node) drain(within time.Duration) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := n.hub.Drain(ctx, 100*time.Millisecond); err != nil {
		n.t.Errorf("drain: %v", err)
	}
}

// awaitClients waits for the given number of connections.
func (n *node) awaitClients(want int) {
	n.t.Helper()
	kit.Eventually(n.t, testTimeout, func() (bool, string) {
		return len(n.hub.allClients()) == want, "waiting for the number of connections"
	})
}

// startPair starts two nodes of one shop and waits until both have a proven instant.
func startPair(t *testing.T) (*node, *node) {
	t.Helper()
	f := newFeed(t, kit.Redis(t))
	one, two := startNodeOn(t, f), startNodeOn(t, f)
	one.awaitProven()
	two.awaitProven()
	return one, two
}

// awaitProven waits until the node has proven an instant at or after now. The node then receives changes and has queued
// all earlier changes.
func (n *node) awaitProven() {
	n.t.Helper()
	now, err := n.feed.Clock(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	kit.Eventually(n.t, testTimeout, func() (bool, string) {
		p := n.hub.proven.Load()
		return p != nil && p.History == now.History && p.At >= now.At, "waiting for a proven instant"
	})
}
