//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"stampede/app/account"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// crowd is a group of shoppers who buy continuously, four per sale. They repeat a buy with an unknown outcome, as every
// client must (I6).
type crowd struct {
	w        *world
	cancel   context.CancelFunc
	shoppers sync.WaitGroup

	mu       sync.Mutex
	attempts []attempt
}

// attempt is one buy with all its retries, until its result.
type attempt struct {
	partition int
	user      shop.ID
	key       string
	began     time.Time
	took      time.Duration // until the result was known
	busy      int           // number of busy replies and lost sockets
	receipt   order.Receipt
	node      int
}

const perSale = 4

// startCrowd starts the crowd in the partitions of only, or in all partitions if only is empty.
func (w *world) startCrowd(only ...int) *crowd {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	c := &crowd{w: w, cancel: stop}
	w.t.Cleanup(func() {
		stop()
		c.shoppers.Wait()
	})
	for p := range partitions {
		if len(only) > 0 && !slices.Contains(only, p) {
			continue
		}
		for i := range perSale {
			c.shoppers.Go(func() { c.runShopper(ctx, p, i%len(w.apiNodes)) })
		}
	}
	return c
}

// runShopper runs one shopper. When the crowd stops, it first finishes the current buy.
func (c *crowd) runShopper(ctx context.Context, partition, nodeIndex int) {
	user := kit.NewID()
	var socket *wsclient.Conn
	defer func() {
		if socket != nil {
			socket.Close()
		}
	}()
	for n := 0; ctx.Err() == nil; n++ {
		p := attempt{
			partition: partition, user: user, key: fmt.Sprintf("press-%s-%d", user, n), began: time.Now(),
			node: nodeIndex,
		}
		for p.receipt.Order == 0 {
			if time.Since(p.began) > settleTimeout {
				c.w.t.Errorf("partition %d: a buy got no reply within %v", partition, settleTimeout)
				return
			}
			var err error
			if socket == nil {
				if socket, err = c.w.openSocket(nodeIndex, user); err != nil {
					socket = nil
					p.busy++
					pause(50)
					continue
				}
			}
			p.receipt, err = socket.Buy(c.w.sales[partition].ID, 1, p.key)
			var refused *shop.Error
			switch {
			case err == nil:
			case errors.As(err, &refused) && refused.Code == shop.Busy:
				p.busy++
				pause(max(refused.RetryMS, 50))
			case errors.As(err, &refused):
				c.w.t.Errorf("partition %d: %v", partition, err)
				return
			default:
				p.busy++
				socket.Close()
				socket = nil
			}
		}
		p.took = time.Since(p.began)
		c.mu.Lock()
		c.attempts = append(c.attempts, p)
		c.mu.Unlock()
		pause(60) // a socket is limited to twenty ops a second
	}
}

func pause(ms int64) { <-time.After(time.Duration(ms) * time.Millisecond) }

// openSocket opens a socket for the user.
func (w *world) openSocket(nodeIndex int, user shop.ID) (*wsclient.Conn, error) {
	issuer, err := account.NewIssuer([]byte(secret), nil)
	if err != nil {
		return nil, err
	}
	token, err := issuer.Issue(user, "Tester", shop.Shopper, time.Hour)
	if err != nil {
		return nil, err
	}
	baseURL := "http://" + w.apiNodes[nodeIndex].addr
	dialer := wsclient.Dialer{Origin: baseURL}
	socket, err := dialer.Dial(w.t.Context(), baseURL)
	if err != nil {
		return nil, err
	}
	if _, err := socket.Hello(token, ""); err != nil {
		socket.Close()
		return nil, err
	}
	return socket, nil
}

// stop ends the crowd and returns all its buys. Each has a result.
func (c *crowd) stop() []attempt {
	c.cancel()
	c.shoppers.Wait()
	return c.completed()
}

// completed returns the buys that have a result.
func (c *crowd) completed() []attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.attempts)
}

// awaitResults waits until the partition has the given number of additional results.
func (c *crowd) awaitResults(partition, more int) {
	c.w.t.Helper()
	before := c.count(partition)
	kit.Eventually(c.w.t, settleTimeout, func() (bool, string) {
		n := c.count(partition)
		return n >= before+more, fmt.Sprintf("got %d of %d replies to buys of partition %d", n-before, more, partition)
	})
}

func (c *crowd) count(partition int) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.attempts {
		if c.attempts[i].partition == partition {
			n++
		}
	}
	return n
}

// quantile returns the q-quantile of the duration of the buys.
func quantile(attempts []attempt, q float64) time.Duration {
	took := make([]time.Duration, len(attempts))
	for i := range attempts {
		took[i] = attempts[i].took
	}
	slices.Sort(took)
	if len(took) == 0 {
		return 0
	}
	return took[min(len(took)-1, int(q*float64(len(took))))]
}

// buysDuring returns the buys that overlap the interval, in partitions for which affected returns true.
func buysDuring(attempts []attempt, from, to time.Time, affected func(partition int) bool) (found []attempt) {
	for _, p := range attempts {
		if affected(p.partition) && p.began.Before(to) && p.began.Add(p.took).After(from) {
			found = append(found, p)
		}
	}
	return found
}

// oneOrderPerAttempt checks that no order is the result of two buys.
func oneOrderPerAttempt(t *testing.T, attempts []attempt) {
	t.Helper()
	keyByOrder := make(map[shop.ID]string)
	for _, p := range attempts {
		if other, duplicate := keyByOrder[p.receipt.Order]; duplicate {
			t.Errorf("order %s is the result of two keys: %s and %s", p.receipt.Order, other, p.key)
		}
		keyByOrder[p.receipt.Order] = p.key
	}
}
