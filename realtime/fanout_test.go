package realtime

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// fanoutClients is the number of clients of the hub, including stalled ones. The plain loop has one connection for each
// client that is not stalled.
const fanoutClients = 500

// BenchmarkRatioFanout compares a tick to many clients with a plain loop that writes the same bytes to the same number
// of plain connections. Both write to loopback sockets of this process that discard all input. The metric `ratio` is
// the frame rate of the hub divided by that of the plain loop; the required minimum is 0.9.
func BenchmarkRatioFanout(b *testing.B) { benchFanout(b, 0) }

// BenchmarkRatioFanoutStalled is like BenchmarkRatioFanout, but one client in a hundred does not read. Only the frames
// of the other clients are counted. The required minimum is 0.85.
func BenchmarkRatioFanoutStalled(b *testing.B) { benchFanout(b, fanoutClients/100) }

func benchFanout(b *testing.B, stalled int) {
	hub := NewHub(Options{
		Shop: (&fakeShop{}).calls(), HelloWithin: time.Hour, IdleAfter: time.Hour, WriteWithin: time.Hour,
	})
	web := fiber.New(fiber.Config{DisableStartupMessage: true})
	hub.Mount(web, "/ws")
	address := listen(b, func(l net.Listener) { _ = web.Listener(l) })
	b.Cleanup(func() {
		_ = hub.Drain(b.Context(), 0) // the context has ended: cut connections immediately
		_ = web.Shutdown()
	})
	for range stalled {
		openWatcher(b, address)
	}
	for len(hub.allClients()) < stalled { // the handshake response precedes enter
		runtime.Gosched()
	}
	stalledClients := make(map[*client]bool, stalled)
	for _, c := range hub.allClients() {
		stalledClients[c] = true
	}
	for range fanoutClients - stalled {
		conn := openWatcher(b, address)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	plain := plainConns(b, fanoutClients-stalled)
	stock := int64(0)
	tick := func() {
		stock++
		hub.Tick(1, []shop.Counters{counters(11, stock)})
		hub.awaitIdle(stalledClients)
	}
	tick() // new clients receive the whole watch set
	// Fill the socket buffers of the stalled clients, until their writers block.
	for blocked := false; !blocked; blocked = hub.blocked(stalledClients) {
		tick()
	}
	frame := tickFrame(1, [][]byte{hub.lineTable.lines[11].text})
	var inHub, inLoop time.Duration
	for b.Loop() {
		began := time.Now()
		tick()
		inHub += time.Since(began)

		began = time.Now()
		for _, c := range plain {
			if _, err := c.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
		inLoop += time.Since(began)
	}
	frames := float64(len(plain) * b.N)
	b.ReportMetric(frames/inHub.Seconds(), "frames/s")
	b.ReportMetric(frames/inLoop.Seconds(), "plain-frames/s")
	b.ReportMetric(inLoop.Seconds()/inHub.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}

// awaitIdle waits until no writer runs, except the writers of stalledClients.
func (h *Hub) awaitIdle(stalledClients map[*client]bool) {
	for _, c := range h.allClients() {
		for !stalledClients[c] && c.busyWriting() {
			runtime.Gosched()
		}
	}
}

// blocked reports whether the writers of all stalledClients are blocked in a write: they run during 20 ms without a new
// frame.
func (h *Hub) blocked(stalledClients map[*client]bool) bool {
	for range 20 {
		for c := range stalledClients {
			if !c.busyWriting() {
				return false
			}
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

func (c *client) busyWriting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writing
}

func listen(b *testing.B, serve func(l net.Listener)) string {
	b.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go serve(l)
	return l.Addr().String()
}

// openWatcher opens a socket that watches and reads only the first frames.
func openWatcher(b *testing.B, address string) net.Conn {
	b.Helper()
	conn := dialPlain(b, address)
	hello := append(masked(`{"id":1,"op":"hello"}`), masked(`{"id":2,"op":"watch"}`)...)
	if _, err := conn.Write(append(wsclient.Handshake("x"), hello...)); err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 4096)
	if _, err := conn.Read(buffer); err != nil {
		b.Fatal(err)
	}
	return conn
}

func dialPlain(b *testing.B, address string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp4", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

// plainConns returns the writing ends of plain connections.
func plainConns(b *testing.B, n int) []net.Conn {
	b.Helper()
	accepted := make(chan net.Conn)
	address := listen(b, func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	})
	conns := make([]net.Conn, n)
	for i := range conns {
		reader := dialPlain(b, address)
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		conns[i] = <-accepted
		b.Cleanup(func() { conns[i].Close() })
	}
	return conns
}
