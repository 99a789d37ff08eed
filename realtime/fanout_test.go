package realtime

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// BenchmarkRatioFanout compares a tick to many clients with a plain loop that writes the same bytes to as many
// plain connections. Both write to loopback sockets of this process that throw away what they read. The
// metric `ratio` is the hub's share of the plain loop's frames per second.
func BenchmarkRatioFanout(b *testing.B) {
	const clients = 500
	hub := NewHub(Options{Shop: &fakeShop{}, HelloWithin: time.Hour, IdleAfter: time.Hour})
	web := fiber.New(fiber.Config{DisableStartupMessage: true})
	hub.Mount(web, "/ws")
	address := listen(b, func(l net.Listener) { _ = web.Listener(l) })
	b.Cleanup(func() {
		_ = hub.Drain(b.Context(), 0) // the context has ended: cut at once
		_ = web.Shutdown()
	})
	for range clients {
		watchFor(b, address)
	}
	plain := plainConns(b, clients)
	hub.Tick(0, []app.Counters{counters(11, 0)}) // newcomers' whole sets
	hub.Tick(0, []app.Counters{counters(11, 0)})
	hub.awaitIdle()

	frame := tickFrame(1, [][]byte{hub.board.lines[11].text})
	var inHub, inLoop time.Duration
	stock := int64(0)
	for b.Loop() {
		stock++
		began := time.Now()
		hub.Tick(1, []app.Counters{counters(11, stock)})
		hub.awaitIdle()
		inHub += time.Since(began)

		began = time.Now()
		for _, c := range plain {
			if _, err := c.Write(frame); err != nil {
				b.Fatal(err)
			}
		}
		inLoop += time.Since(began)
	}
	b.ReportMetric(float64(clients*b.N)/inHub.Seconds(), "frames/s")
	b.ReportMetric(float64(clients*b.N)/inLoop.Seconds(), "plain-frames/s")
	b.ReportMetric(inLoop.Seconds()/inHub.Seconds(), "ratio")
}

// awaitIdle returns when no writer is at work.
func (h *Hub) awaitIdle() {
	for _, c := range h.everybody() {
		for {
			c.mu.Lock()
			idle := !c.writing
			c.mu.Unlock()
			if idle {
				break
			}
			runtime.Gosched()
		}
	}
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

// watchFor opens a socket that watches and throws away what it hears.
func watchFor(b *testing.B, address string) {
	b.Helper()
	conn := dialPlain(b, address)
	handshake := "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
	hello := string(masked(`{"id":1,"op":"hello"}`)) + string(masked(`{"id":2,"op":"watch"}`))
	if _, err := conn.Write([]byte(handshake + hello)); err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 4096)
	if _, err := conn.Read(buffer); err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
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

// plainConns are the writing ends of plain connections.
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
