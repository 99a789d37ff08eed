package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

const (
	// perAddress is the number of flood requests per source address. It is below the server's limits per address, so
	// that the server processes each request completely.
	perAddress = 50
	// perConnection is the number of requests per connection. Each request waits for the response to the request
	// before, so additional requests would only wait behind a slow login.
	perConnection = 5
	// maxSilence is the maximum pause between two responses. A login waits up to ten seconds in the server's queue, and
	// longer on a busy machine. Requests may queue on one connection, so the total duration of a flood has no limit.
	maxSilence = 30 * time.Second
)

// flood sends requests at a fixed rate over its own connections.
type flood struct {
	poller       *poller
	request      func(n int) []byte
	rate         float64
	silenceLimit time.Duration // see maxSilence
	conns        map[int]*floodConn
	open         []*floodConn // in round-robin order
	buffer       []byte

	addresses int // number of source addresses

	sent      int
	next      int // index into open
	waiting   int // requests without a response
	responses map[string]int
	losses    map[string]int
}

// floodConn is a kept-alive connection of the flood.
type floodConn struct {
	fd      int
	waiting int
	partial []byte // the start of an incomplete response
}

// newFlood opens the connections and the source addresses for a flood of this rate and length.
func newFlood(to *target, request func(n int) []byte, rate float64, length time.Duration) (*flood, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	f := &flood{
		poller: p, request: request, rate: rate, silenceLimit: maxSilence, conns: make(map[int]*floodConn),
		buffer: make([]byte, 64<<10), responses: make(map[string]int), losses: make(map[string]int),
	}
	now, requests := time.Now(), rate*length.Seconds()
	f.addresses = int(math.Ceil(requests / perAddress))
	for i := range int(math.Ceil(requests / perConnection)) {
		fd, err := dialFrom(to.floodSource(now, i%f.addresses), to.address)
		if err == nil {
			c := &floodConn{fd: fd}
			f.conns[fd], f.open = c, append(f.open, c)
			err = p.add(fd)
		}
		if err != nil {
			f.close()
			return nil, fmt.Errorf("connect the flood: %w", err)
		}
	}
	return f, nil
}

// close closes all connections.
func (f *flood) close() {
	for _, c := range f.open {
		closeSocket(c.fd)
	}
	f.poller.close()
}

// run sends requests until stop is closed, then waits for the remaining responses. It returns how long it sent
// requests.
func (f *flood) run(ctx context.Context, stop <-chan struct{}) (time.Duration, error) {
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-stop:
			return time.Since(began), f.drain(ctx)
		default:
		}
		for due := int(time.Since(began).Seconds() * f.rate); f.sent < due; {
			if err := f.send(); err != nil {
				return 0, err
			}
		}
		time.Sleep(time.Millisecond) // a wait for the next response would wake up twice as often
		if err := f.poller.wait(0, f.readable); err != nil {
			return 0, err
		}
	}
}

// send sends one request on the next connection.
func (f *flood) send() error {
	if len(f.open) == 0 {
		return fmt.Errorf("all connections of the flood were lost: %v", f.losses)
	}
	c := f.open[f.next%len(f.open)]
	f.next++
	if err := writeTo(c.fd, f.request(f.next)); err != nil {
		f.lose(c, err)
		return nil
	}
	f.sent++
	c.waiting++
	f.waiting++
	return nil
}

// drain waits for the remaining responses as long as responses arrive. It closes connections without a pending
// response: the server would close them as idle, and that must not count as a loss.
func (f *flood) drain(ctx context.Context) error {
	remaining, until := f.waiting, time.Now().Add(f.silenceLimit)
	for f.closeFinished(); f.waiting > 0 && ctx.Err() == nil && time.Now().Before(until); f.closeFinished() {
		if err := f.poller.wait(10*time.Millisecond, f.readable); err != nil {
			return err
		}
		if f.waiting < remaining {
			remaining, until = f.waiting, time.Now().Add(f.silenceLimit)
		}
	}
	return ctx.Err()
}

// closeFinished closes the connections that have no pending response.
func (f *flood) closeFinished() {
	f.open = slices.DeleteFunc(f.open, func(c *floodConn) bool {
		finished := c.waiting == 0
		if finished {
			delete(f.conns, c.fd)
			closeSocket(c.fd)
		}
		return finished
	})
}

// readable counts the received responses of a connection by status and body.
func (f *flood) readable(fd int) {
	c := f.conns[fd]
	if c == nil {
		return // closed while an earlier event of the same wait was processed
	}
	kept := copy(f.buffer, c.partial)
	n, err := readFrom(fd, f.buffer[kept:])
	rest := f.buffer[:kept+n]
	for err == nil {
		var response string
		var ok bool
		if response, rest, ok, err = cutResponse(rest); err != nil || !ok {
			break
		}
		f.responses[response]++
		c.waiting--
		f.waiting--
	}
	if err != nil {
		f.lose(c, err)
		return
	}
	c.partial = append(c.partial[:0], rest...)
}

// lose closes a connection and drops its pending responses.
func (f *flood) lose(c *floodConn, reason error) {
	f.losses[reason.Error()]++
	f.waiting -= c.waiting
	delete(f.conns, c.fd)
	closeSocket(c.fd)
	f.open = slices.DeleteFunc(f.open, func(other *floodConn) bool { return other == c })
}

// add adds the counts of another flood.
func (f *flood) add(other *flood) {
	f.sent += other.sent
	f.waiting += other.waiting
	addCounts(f.responses, other.responses)
	addCounts(f.losses, other.losses)
}

func addCounts(into, from map[string]int) {
	for name, n := range from {
		into[name] += n
	}
}

// cutResponse removes one HTTP response from b and returns it as "200 success". ok is false while the response is
// incomplete.
func cutResponse(b []byte) (response string, rest []byte, ok bool, err error) {
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return "", b, false, nil
	}
	_, length, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	size, err := strconv.Atoi(string(length))
	if !found || err != nil || size < 0 || len(head) < len("HTTP/1.1 200") {
		return "", b, false, errors.New("the response of the server has no length")
	}
	if len(body) < size {
		return "", b, false, nil
	}
	return string(head[len("HTTP/1.1 "):len("HTTP/1.1 200")]) + " " + string(body[:size]), body[size:], true, nil
}
