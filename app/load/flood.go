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
	// perAddress is how many requests of a flood come from one address: fewer than a server looks at before it turns
	// the address away unread, so that each of them costs it the whole work.
	perAddress = 50
	// perConnection is the number of requests per connection. Each waits for the response to the one before, so more
	// would only queue behind a slow login.
	perConnection = 5
	// silentAtMost is the longest pause between two answers: a log in waits up to ten seconds for its turn, on a busy
	// machine longer. Requests may queue on one connection, so there is no limit to all together.
	silentAtMost = 30 * time.Second
)

// flood sends requests at a fixed rate over connections of its own.
type flood struct {
	poller  *poller
	request func(n int) []byte
	rate    float64
	silent  time.Duration // see silentAtMost
	callers map[int]*caller
	open    []*caller // in the order of their turns
	buffer  []byte

	addresses int // that it comes from

	sent    int
	next    int // in open
	waiting int // for an answer
	answers map[string]int
	losses  map[string]int
}

// caller is a kept-alive connection of the flood.
type caller struct {
	fd      int
	waiting int
	partial []byte // the beginning of an answer whose end has not come yet
}

// newFlood opens the connections, from as many addresses, that a flood of that length needs.
func newFlood(to *target, request func(n int) []byte, rate float64, length time.Duration) (*flood, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	f := &flood{
		poller: p, request: request, rate: rate, silent: silentAtMost, callers: make(map[int]*caller),
		buffer: make([]byte, 64<<10), answers: make(map[string]int), losses: make(map[string]int),
	}
	now, requests := time.Now(), rate*length.Seconds()
	f.addresses = int(math.Ceil(requests / perAddress))
	for i := range int(math.Ceil(requests / perConnection)) {
		fd, err := dialFrom(to.stranger(now, i%f.addresses), to.address)
		if err == nil {
			c := &caller{fd: fd}
			f.callers[fd], f.open = c, append(f.open, c)
			err = p.add(fd)
		}
		if err != nil {
			f.close()
			return nil, fmt.Errorf("connect the flood: %w", err)
		}
	}
	return f, nil
}

// close cuts all connections.
func (f *flood) close() {
	for _, c := range f.open {
		closeSocket(c.fd)
	}
	f.poller.close()
}

// run sends until stop is closed, and then waits for what has not been answered. It answers how long it sent.
func (f *flood) run(ctx context.Context, stop <-chan struct{}) (time.Duration, error) {
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-stop:
			return time.Since(began), f.hearOut(ctx)
		default:
		}
		for due := int(time.Since(began).Seconds() * f.rate); f.sent < due; {
			if err := f.send(); err != nil {
				return 0, err
			}
		}
		time.Sleep(time.Millisecond) // and not until an answer comes: that would wake up twice as often
		if err := f.poller.wait(0, f.readable); err != nil {
			return 0, err
		}
	}
}

// send gives the next connection its turn.
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

// hearOut waits for the remaining responses as long as any arrive. Connections without a pending response are closed:
// the server would close them as idle, which must not count as a loss.
func (f *flood) hearOut(ctx context.Context) error {
	left, until := f.waiting, time.Now().Add(f.silent)
	for f.hangUp(); f.waiting > 0 && ctx.Err() == nil && time.Now().Before(until); f.hangUp() {
		if err := f.poller.wait(10*time.Millisecond, f.readable); err != nil {
			return err
		}
		if f.waiting < left {
			left, until = f.waiting, time.Now().Add(f.silent)
		}
	}
	return ctx.Err()
}

// hangUp closes the connections that have no pending response.
func (f *flood) hangUp() {
	f.open = slices.DeleteFunc(f.open, func(c *caller) bool {
		answered := c.waiting == 0
		if answered {
			delete(f.callers, c.fd)
			closeSocket(c.fd)
		}
		return answered
	})
}

// readable counts the answers that have come on a connection, each by its status and its word.
func (f *flood) readable(fd int) {
	c := f.callers[fd]
	if c == nil {
		return // lost by what came just before
	}
	kept := copy(f.buffer, c.partial)
	n, err := readFrom(fd, f.buffer[kept:])
	rest := f.buffer[:kept+n]
	for err == nil {
		var answer string
		var ok bool
		if answer, rest, ok, err = cutAnswer(rest); err != nil || !ok {
			break
		}
		f.answers[answer]++
		c.waiting--
		f.waiting--
	}
	if err != nil {
		f.lose(c, err)
		return
	}
	c.partial = append(c.partial[:0], rest...)
}

// lose gives up a connection, and what it was not told.
func (f *flood) lose(c *caller, why error) {
	f.losses[why.Error()]++
	f.waiting -= c.waiting
	delete(f.callers, c.fd)
	closeSocket(c.fd)
	f.open = slices.DeleteFunc(f.open, func(other *caller) bool { return other == c })
}

// add takes in what became of another flood.
func (f *flood) add(other *flood) {
	f.sent += other.sent
	f.waiting += other.waiting
	addUp(f.answers, other.answers)
	addUp(f.losses, other.losses)
}

func addUp(into, from map[string]int) {
	for name, n := range from {
		into[name] += n
	}
}

// cutAnswer takes one HTTP answer off b, as "200 success"; ok is false while it has not come wholly.
func cutAnswer(b []byte) (answer string, rest []byte, ok bool, err error) {
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return "", b, false, nil
	}
	_, length, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	size, err := strconv.Atoi(string(length))
	if !found || err != nil || size < 0 || len(head) < len("HTTP/1.1 200") {
		return "", b, false, errors.New("the server answers without a length")
	}
	if len(body) < size {
		return "", b, false, nil
	}
	return string(head[len("HTTP/1.1 "):len("HTTP/1.1 200")]) + " " + string(body[:size]), body[size:], true, nil
}
