package wsclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stampede/app/admission"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
)

// Call sends an op and decodes its reply.
func Call[T any](c *Conn, r Request) (reply T, err error) {
	ok, err := c.Do(r)
	if err != nil {
		return reply, err
	}
	if err := json.Unmarshal(ok, &reply); err != nil {
		return reply, fmt.Errorf("decode reply %.200s to %s: %w", ok, r.Op, err)
	}
	return reply, nil
}

// Hello logs in; without a token, the connection is anonymous. With the cursor of an earlier connection, the reply
// contains the missed events.
func (c *Conn) Hello(token, cursor string) (Welcome, error) {
	return Call[Welcome](c, Request{Op: Hello, Token: token, Cursor: cursor})
}

// Renew replaces the token of the connection by another token of the same user.
func (c *Conn) Renew(token string) (Renewed, error) {
	return Call[Renewed](c, Request{Op: Renew, Token: token})
}

// Time returns the server's clock.
func (c *Conn) Time(t0 json.Number) (RoundTrip, error) {
	return Call[RoundTrip](c, Request{Op: Time, T0: t0})
}

// Watch starts watching a slot and single sales. Slot 0 without sales is the current slot.
func (c *Conn) Watch(slot shop.ID, sales ...shop.ID) (catalog.WatchView, error) {
	return Call[catalog.WatchView](c, Request{Op: Watch, Slot: slot, Sales: sales})
}

// Unwatch stops watching a slot and single sales. Slot 0 without sales stops watching everything.
func (c *Conn) Unwatch(slot shop.ID, sales ...shop.ID) error {
	_, err := c.Do(Request{Op: Unwatch, Slot: slot, Sales: sales})
	return err
}

// Buy sends a buy. Calls with the same key are the same buy attempt.
func (c *Conn) Buy(sale shop.ID, qty int, key string) (order.Receipt, error) {
	return Call[order.Receipt](c, Request{Op: Buy, Sale: sale, Qty: qty, Key: key})
}

// BuyUntilKnown repeats a buy with the same key while its outcome is unknown, as every client must (I6).
func (c *Conn) BuyUntilKnown(sale shop.ID, qty int, key string) (receipt order.Receipt, err error) {
	err = c.RetryOnCodes(func() error {
		receipt, err = c.Buy(sale, qty, key)
		return err
	}, shop.Busy, shop.RateLimited)
	return receipt, err
}

// RequestPass requests a pass. The reply contains the pass, or the task that must be solved first.
func (c *Conn) RequestPass(sale shop.ID) (admission.PassResult, error) {
	return Call[admission.PassResult](c, Request{Op: Pass, Sale: sale})
}

// SolvePass sends the solution of a task.
func (c *Conn) SolvePass(sale shop.ID, task, answer string) (admission.PassResult, error) {
	return Call[admission.PassResult](c, Request{Op: Solve, Sale: sale, Task: task, Answer: answer})
}

// GetPass requests a pass and computes the proof of work if required. Captchas are not supported.
func (c *Conn) GetPass(sale shop.ID) (string, error) {
	result, err := c.RequestPass(sale)
	if err != nil || result.Task == nil {
		return result.Pass, err
	}
	if result.Task.Kind != shop.ChallengeWork {
		return "", fmt.Errorf("%w: the pass requires a captcha", errors.ErrUnsupported)
	}
	result, err = c.SolvePass(sale, result.Task.ID, admission.Solve(result.Task.Text, result.Task.Bits))
	return result.Pass, err
}

// BuyWithPass sends a buy with a pass.
func (c *Conn) BuyWithPass(pass string, sale shop.ID, qty int, key string) (order.Receipt, error) {
	return Call[order.Receipt](c, Request{Op: Buy, Sale: sale, Qty: qty, Key: key, Pass: pass})
}

// Cancel cancels an unpaid order.
func (c *Conn) Cancel(o shop.ID) (State, error) {
	return Call[State](c, Request{Op: Cancel, Order: o})
}

// Pay returns the payment link: via is page, wap, app or qr.
func (c *Conn) Pay(o shop.ID, via string) (payment.Payable, error) {
	return Call[payment.Payable](c, Request{Op: Pay, Order: o, Via: via})
}

// SetAddress sets the delivery address of an order.
func (c *Conn) SetAddress(o shop.ID, address shop.Address) (State, error) {
	return Call[State](c, Request{Op: Address, Order: o, Address: &address})
}

// Refund requests a refund of an order.
func (c *Conn) Refund(o shop.ID, reason string) (State, error) {
	return Call[State](c, Request{Op: Refund, Order: o, Reason: reason})
}

// Orders returns the orders before the given order, newest first. Order 0 gives the newest orders.
func (c *Conn) Orders(before shop.ID) (Page, error) {
	return Call[Page](c, Request{Op: Orders, Before: before})
}

// Seen sends the cursor up to which the user has read events.
func (c *Conn) Seen(cursor string) error {
	_, err := c.Do(Request{Op: Seen, Cursor: cursor})
	return err
}

// WatchBoard starts the feed of the live board for operators and returns its history.
func (c *Conn) WatchBoard() (BoardReply, error) {
	return Call[BoardReply](c, Request{Op: Board, On: new(true)})
}

// LeaveBoard stops the feed of the live board.
func (c *Conn) LeaveBoard() error {
	_, err := c.Do(Request{Op: Board, On: new(false)})
	return err
}

// RetryOnCodes calls the function `do` until it returns no error with one of the codes, 200 times at most. It waits for
// the server's `retry_ms` between calls.
func (c *Conn) RetryOnCodes(do func() error, codes ...shop.Code) (err error) {
	for range 200 {
		var refused *shop.Error
		if err = do(); !errors.As(err, &refused) || !slices.Contains(codes, refused.Code) {
			return err
		}
		c.Pause(refused.RetryMS)
	}
	return fmt.Errorf("rejected 200 times: %w", err)
}

// Pause waits for ms, at least 50 ms to stay below the limit of ops per second, or until the connection ends.
func (c *Conn) Pause(ms int64) {
	select {
	case <-time.After(time.Duration(max(ms, 50)) * time.Millisecond):
	case <-c.done:
	}
}
