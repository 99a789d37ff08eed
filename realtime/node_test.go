package realtime

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"stampede/app/apptest"
)

// node is a hub behind a real web server on a free port.
type node struct {
	t    *testing.T
	hub  *Hub
	shop *fakeShop
	log  *Log
	addr string
}

// startNode starts a node on a Redis of its own; options may be changed before it starts.
func startNode(t *testing.T, change ...func(o *Options)) *node {
	t.Helper()
	return startNodeOn(t, apptest.Redis(t), change...)
}

// startNodeOn starts a node on a Redis that other nodes may share.
func startNodeOn(t *testing.T, redisURL string, change ...func(o *Options)) *node {
	t.Helper()
	n := &node{t: t, shop: &fakeShop{}, log: testLog(t, redisURL)}
	o := Options{Shop: n.shop, Log: n.log, HelloWithin: patience, WriteWithin: patience} // limits that a test is about it sets itself
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
		n.drain(patience)
		cancel()
		if err := <-ran; !errors.Is(err, context.Canceled) {
			t.Errorf("hub ended with %v", err)
		}
		if err := web.Shutdown(); err != nil {
			t.Errorf("shut down: %v", err)
		}
		<-served
	})
	return n
}

// testLog opens the log of a Redis; its database number keeps the channels of tests apart.
func testLog(t testing.TB, redisURL string) *Log {
	t.Helper()
	options, err := redis.ParseURL(redisURL)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return NewLog(client, strings.ReplaceAll(t.Name(), "/", ".")+":"+redisURL)
}

func (n *node) drain(within time.Duration) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := n.hub.Drain(ctx, 100*time.Millisecond); err != nil {
		n.t.Errorf("drain: %v", err)
	}
}

// awaitClients waits until that many connections are there.
func (n *node) awaitClients(want int) {
	n.t.Helper()
	apptest.Eventually(n.t, patience, func() (bool, string) {
		n.hub.mu.Lock()
		defer n.hub.mu.Unlock()
		return len(n.hub.clients) == want, "another number of connections"
	})
}

// startPair starts two nodes on one Redis and one namespace.
func startPair(t *testing.T, change ...func(o *Options)) (*node, *node) {
	t.Helper()
	url := apptest.Redis(t)
	return startNodeOn(t, url, change...), startNodeOn(t, url, change...)
}

// awaitEar waits until the node hears hints.
func (n *node) awaitEar() {
	n.t.Helper()
	apptest.Eventually(n.t, patience, func() (bool, string) {
		return testutil.ToFloat64(n.hub.metrics.resyncs) > 0, "not subscribed"
	})
}
