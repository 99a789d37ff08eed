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

// Ask does an op and reads what it gives.
func Ask[T any](c *Conn, r Request) (answer T, err error) {
	ok, err := c.Do(r)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(ok, &answer); err != nil {
		return answer, fmt.Errorf("read answer %.200s to %s: %w", ok, r.Op, err)
	}
	return answer, nil
}

// Hello logs in; without a token, as nobody. With the cursor of an earlier connection it tells what was missed since.
func (c *Conn) Hello(token, cursor string) (Welcome, error) {
	return Ask[Welcome](c, Request{Op: Hello, Token: token, Cursor: cursor})
}

// Renew goes on with another token of the same user.
func (c *Conn) Renew(token string) (Renewed, error) {
	return Ask[Renewed](c, Request{Op: Renew, Token: token})
}

// Time asks for the server's clock.
func (c *Conn) Time(t0 json.Number) (RoundTrip, error) {
	return Ask[RoundTrip](c, Request{Op: Time, T0: t0})
}

// Watch adds a slot and single sales to what is watched; without any, the current slot.
func (c *Conn) Watch(slot shop.ID, sales ...shop.ID) (catalog.WatchView, error) {
	return Ask[catalog.WatchView](c, Request{Op: Watch, Slot: slot, Sales: sales})
}

// Unwatch lets go of them; without any, of everything.
func (c *Conn) Unwatch(slot shop.ID, sales ...shop.ID) error {
	_, err := c.Do(Request{Op: Unwatch, Slot: slot, Sales: sales})
	return err
}

// Buy presses Buy. The same key is the same press.
func (c *Conn) Buy(sale shop.ID, qty int, key string) (order.Receipt, error) {
	return Ask[order.Receipt](c, Request{Op: Buy, Sale: sale, Qty: qty, Key: key})
}

// BuyUntilKnown repeats a buy with the same key while its outcome is unknown, as every client must (I6).
func (c *Conn) BuyUntilKnown(sale shop.ID, qty int, key string) (receipt order.Receipt, err error) {
	err = c.Patiently(func() error {
		receipt, err = c.Buy(sale, qty, key)
		return err
	}, shop.Busy, shop.RateLimited)
	return receipt, err
}

// AskPass asks for a pass, and hears what stands before it.
func (c *Conn) AskPass(sale shop.ID) (admission.PassAnswer, error) {
	return Ask[admission.PassAnswer](c, Request{Op: Pass, Sale: sale})
}

// SolvePass answers a task.
func (c *Conn) SolvePass(sale shop.ID, task, answer string) (admission.PassAnswer, error) {
	return Ask[admission.PassAnswer](c, Request{Op: Solve, Sale: sale, Task: task, Answer: answer})
}

// GetPass asks for a pass and does the work that stands before it. A picture it cannot read.
func (c *Conn) GetPass(sale shop.ID) (string, error) {
	answer, err := c.AskPass(sale)
	if err != nil || answer.Task == nil {
		return answer.Pass, err
	}
	if answer.Task.Kind != shop.ChallengeWork {
		return "", fmt.Errorf("%w: a picture comes before the pass", errors.ErrUnsupported)
	}
	answer, err = c.SolvePass(sale, answer.Task.ID, admission.Solve(answer.Task.Text, answer.Task.Bits))
	return answer.Pass, err
}

// BuyWith presses Buy and shows a pass.
func (c *Conn) BuyWith(pass string, sale shop.ID, qty int, key string) (order.Receipt, error) {
	return Ask[order.Receipt](c, Request{Op: Buy, Sale: sale, Qty: qty, Key: key, Pass: pass})
}

// Cancel gives an unpaid order up.
func (c *Conn) Cancel(o shop.ID) (State, error) {
	return Ask[State](c, Request{Op: Cancel, Order: o})
}

// Pay asks where to pay: via page, wap, app or qr.
func (c *Conn) Pay(o shop.ID, via string) (payment.Payable, error) {
	return Ask[payment.Payable](c, Request{Op: Pay, Order: o, Via: via})
}

// Refund asks for the money of an order back.
func (c *Conn) Refund(o shop.ID, reason string) (State, error) {
	return Ask[State](c, Request{Op: Refund, Order: o, Reason: reason})
}

// Orders reads the orders before the one given, the newest first; 0: from the newest on.
func (c *Conn) Orders(before shop.ID) (Page, error) {
	return Ask[Page](c, Request{Op: Orders, Before: before})
}

// Seen says up to where the user has looked.
func (c *Conn) Seen(cursor string) error {
	_, err := c.Do(Request{Op: Seen, Cursor: cursor})
	return err
}

// WatchBoard begins the feed of the live board, which is for operators, and answers what it showed before.
func (c *Conn) WatchBoard() (BoardReply, error) {
	return Ask[BoardReply](c, Request{Op: Board, On: new(true)})
}

// LeaveBoard ends it.
func (c *Conn) LeaveBoard() error {
	_, err := c.Do(Request{Op: Board, On: new(false)})
	return err
}

// Patiently does something again, after the pause that the server asks for, while it is refused with one of the codes;
// 200 times at most.
func (c *Conn) Patiently(do func() error, codes ...shop.Code) (err error) {
	for range 200 {
		var refused *shop.Error
		if err = do(); !errors.As(err, &refused) || !slices.Contains(codes, refused.Code) {
			return err
		}
		c.Pause(refused.RetryMS)
	}
	return fmt.Errorf("refused 200 times: %w", err)
}

// Pause waits for ms, which the server asked for, but at least 50 ms, which keeps one socket below its ops per second;
// or until the connection ends.
func (c *Conn) Pause(ms int64) {
	select {
	case <-time.After(time.Duration(max(ms, 50)) * time.Millisecond):
	case <-c.done:
	}
}
