package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

const (
	// pollEvery is how often a long poll looks; the stores feel at most this.
	pollEvery = 500 * time.Millisecond
	// pollersAtOnce bounds the long polls of a node; beyond it they answer at once.
	pollersAtOnce = 512
)

type (
	ordersAnswer struct {
		Orders []app.Order `json:"orders"`
		More   bool        `json:"more"`
	}
	stateAnswer struct {
		State app.OrderState `json:"state"`
	}
	// buyBody is what a buy brings; the sale is in the address.
	buyBody struct {
		Qty     json.RawMessage `json:"qty"`
		Key     string          `json:"key"`
		Address *app.Address    `json:"address"`
		Pass    string          `json:"pass"`
	}
	payBody struct {
		Via string `json:"via"`
	}
	refundBody struct {
		Reason string `json:"reason"`
	}
)

// errNoBuy is said to all, so nobody may change it.
var errNoBuy = app.Fail(app.Forbidden, "buying over HTTP is switched off for now; buy on the page, over its socket")

func (a *api) buy(c *fiber.Ctx, who app.Identity) error {
	sale, err := pathID(c)
	if err != nil {
		return err
	}
	if !a.Switches().HTTPBuy {
		a.NoBuy(sale, errNoBuy)
		return errNoBuy
	}
	if err := a.MayBuy(who.User, hostAddr(c.IP()), sale); err != nil {
		return err
	}
	var b buyBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	qty, err := quantity(b.Qty)
	if err != nil {
		return err
	}
	req := app.BuyRequest{
		Sale: sale, Qty: qty, Key: b.Key, Address: b.Address, Pass: b.Pass,
		Span: a.Tracer.Sample("http", c.Context().Time()),
	}
	return flow(c, func(ctx context.Context) (app.Receipt, error) {
		return a.Shop.Buy(app.BoundTo(ctx, &who), who.User, req)
	})
}

// newState returns the handler of an operation without a body on an order of the caller, whose ID is in the path.
func newState(
	call func(ctx context.Context, user, order app.ID) (app.OrderState, error),
) func(c *fiber.Ctx, user app.ID) error {
	return func(c *fiber.Ctx, user app.ID) error {
		order, err := pathID(c)
		if err != nil {
			return err
		}
		return flow(c, func(ctx context.Context) (stateAnswer, error) {
			state, err := call(ctx, user, order)
			return stateAnswer{state}, err
		})
	}
}

func (a *api) orders(c *fiber.Ctx, user app.ID) error {
	q := app.OrdersQuery{User: user}
	var err error
	if q.Sale, err = queryID(c, "sale"); err != nil {
		return err
	}
	if q.Before, q.Limit, err = before(c); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (ordersAnswer, error) {
		orders, more, err := a.Shop.OrdersOf(ctx, q)
		return ordersAnswer{list(orders), more}, err
	})
}

func (a *api) pay(ctx context.Context, user, order app.ID, b payBody) (app.Payable, error) {
	return a.Shop.Pay(ctx, user, order, app.PayVia(b.Via))
}

func (a *api) refund(ctx context.Context, user, order app.ID, b refundBody) (stateAnswer, error) {
	state, err := a.Shop.AskRefund(ctx, user, order, b.Reason)
	return stateAnswer{state}, err
}

// order answers an order of the user; with wait, as soon as it leaves the state that it has now, and at
// the latest after so many seconds, with whatever it is then.
func (a *api) order(c *fiber.Ctx, user app.ID) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	wait, err := queryInt(c, "wait", 0, 0, longestWait)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.Order, error) {
		order, err := a.Shop.Order(ctx, user, id)
		if err != nil || wait == 0 {
			return order, err
		}
		return a.next(user, order, time.Duration(wait)*time.Second), nil
	})
}

// next looks until the order has left its state. A look that fails is left to the next one.
func (a *api) next(user app.ID, order app.Order, within time.Duration) app.Order {
	select {
	case a.pollers <- struct{}{}:
		defer func() { <-a.pollers }()
	default:
		return order
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return order
		case <-a.Closing:
			return order
		case <-ticker.C:
			now, err := a.Shop.Order(ctx, user, order.ID)
			if err == nil && (now.State != order.State || now.Rev != order.Rev) {
				return now
			}
		}
	}
}

// decode reads one JSON object and nothing after it. Unknown fields are ignored.
func decode(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return app.Fail(app.BadRequest, kind.Field+" must be a "+kind.Type.String())
		}
		return app.Fail(app.BadRequest, "the body must be a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return app.Fail(app.BadRequest, "the body must be one JSON object and nothing else")
	}
	return nil
}

// quantity reads a whole number. One too large for any machine is as much above the limit as a smaller one, so
// it is not an error here: the flow answers it.
func quantity(raw json.RawMessage) (int, error) {
	text := string(raw)
	n, err := strconv.Atoi(text)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
		return math.MaxInt, nil
	}
	return 0, app.Fail(app.BadRequest, "qty must be a whole number of at least 1")
}
