package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type (
	// operatorOrder is an order as operators see it: also whose it is.
	operatorOrder struct {
		app.Order
		User   app.ID      `json:"user"`
		Refund *app.Refund `json:"refund,omitempty"`
	}
	operatorOrders struct {
		Orders []operatorOrder `json:"orders"`
		More   bool            `json:"more"`
	}
	refundsAnswer struct {
		Refunds []app.Refund `json:"refunds"`
		More    bool         `json:"more"`
	}
	// noteBody is what an operator writes to a decision; it may be left out.
	noteBody struct {
		Note string `json:"note"`
	}
)

// operatorRoutes are for tokens whose role is operator or admin.
func (a *api) operatorRoutes(r fiber.Router) {
	r.Get("/orders", a.anyOperator(a.ordersInState))
	r.Get("/orders/:id", a.anyOperator(byID(a.anyOrder)))
	r.Post("/orders/:id/refund", a.asOperator(a.decide(true)))
	r.Get("/refunds", a.anyOperator(a.refunds))
	r.Post("/refunds/:id/approve", a.asOperator(a.decide(true)))
	r.Post("/refunds/:id/decline", a.asOperator(a.decide(false)))
	r.Post("/refunds/:id/retry", a.anyOperator(byID(a.retryRefund)))
}

// asOperator passes the verified operator on to the handler.
func (a *api) asOperator(handle func(c *fiber.Ctx, operator app.ID) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		who, err := a.Shop.Verify(bearer(c))
		if err != nil {
			return err
		}
		if !who.Role.Operates() {
			return app.Fail(app.Forbidden, "this is for operators")
		}
		return handle(c, who.User)
	}
}

// anyOperator is for what is the same whichever operator asks.
func (a *api) anyOperator(handle fiber.Handler) fiber.Handler {
	return a.asOperator(func(c *fiber.Ctx, _ app.ID) error { return handle(c) })
}

func (a *api) ordersInState(c *fiber.Ctx) error {
	q := app.StateQuery{State: app.OrderState(c.Query("state"))}
	if !q.State.HasRow() {
		return app.Fail(app.BadRequest, "state must be one that orders have: pending, paid, shipped, finished, "+
			"cancelled, expired, refused, refunding or refunded")
	}
	var err error
	if q.Before, q.Limit, err = before(c); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (operatorOrders, error) {
		orders, more, err := a.Shop.OrdersInState(ctx, q)
		out := make([]operatorOrder, len(orders))
		for i, o := range orders {
			out[i] = operatorOrder{Order: o, User: o.User}
		}
		return operatorOrders{out, more}, err
	})
}

func (a *api) anyOrder(ctx context.Context, id app.ID) (operatorOrder, error) {
	order, refund, err := a.Shop.AnyOrder(ctx, id)
	return operatorOrder{order, order.User, refund}, err
}

func (a *api) refunds(c *fiber.Ctx) error {
	q := app.RefundsQuery{State: app.RefundState(c.Query("state"))}
	if q.State != "" && !q.State.Known() {
		return app.Fail(app.BadRequest, "state must be asked, open, stuck, done or declined")
	}
	var err error
	if q.Before, q.Limit, err = before(c); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (refundsAnswer, error) {
		refunds, more, err := a.Shop.ListRefunds(ctx, q)
		return refundsAnswer{list(refunds), more}, err
	})
}

// decide makes the handler of a yes or a no.
func (a *api) decide(yes bool) func(c *fiber.Ctx, operator app.ID) error {
	return func(c *fiber.Ctx, operator app.ID) error {
		order, err := pathID(c)
		if err != nil {
			return err
		}
		var b noteBody
		if body := raw(c); len(body) > 0 {
			if err := decode(body, &b); err != nil {
				return err
			}
		}
		return flow(c, func(ctx context.Context) (operatorOrder, error) {
			decided, err := a.Shop.DecideRefund(ctx, operator, order, yes, b.Note)
			return operatorOrder{Order: decided, User: decided.User}, err
		})
	}
}

func (a *api) retryRefund(ctx context.Context, order app.ID) (struct{}, error) {
	return struct{}{}, a.Shop.RetryRefund(ctx, order)
}
