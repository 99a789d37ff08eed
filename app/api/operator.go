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
		User     app.ID        `json:"user"`
		Refund   *app.Refund   `json:"refund,omitempty"`
		Shipment *app.Shipment `json:"shipment,omitempty"`
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
	r.Get("/board", a.anyOperator(a.board))
	a.searchRoutes(r)
	a.adminRoutes(r)
	a.leftoverRoutes(r)
	r.Get("/sales/:id/report", a.anyOperator(byID(a.Shop.SaleReport)))
	r.Get("/sales/:id/report.csv", a.anyOperator(a.saleReportCSV))
	r.Get("/orders/:id", a.anyOperator(byID(a.anyOrder)))
	r.Post("/orders/:id/refund", a.asActor(a.decide(true)))
	r.Post("/orders/:id/ship", a.asActor(actOn(a.ship)))
	r.Post("/ship", a.asActor(actWith(a.shipMany)))
	r.Get("/refunds", a.anyOperator(a.refunds))
	r.Post("/refunds/:id/approve", a.asActor(a.decide(true)))
	r.Post("/refunds/:id/decline", a.asActor(a.decide(false)))
	r.Post("/refunds/:id/retry", a.asActor(actOn(a.retryRefund)))
	r.Post("/sales/:id/pause", a.asActor(actOn(saleAct(a.Shop.PauseSale))))
	r.Post("/sales/:id/resume", a.asActor(actOn(saleAct(a.Shop.ResumeSale))))
	r.Post("/sales/:id/end", a.asActor(actOn(saleAct(a.Shop.EndSale))))
	r.Post("/sales/:id/stock", a.asActor(actOn(a.changeStock)))
	r.Post("/sales/:id/challenge", a.asActor(actOn(a.setChallenge)))
	r.Post("/sales/:id/guests", a.asActor(actOn(a.addGuests)))
	r.Get("/switches", a.anyOperator(func(c *fiber.Ctx) error { return flow(c, a.Shop.Switches) }))
	r.Patch("/switches", a.asActor(actWith(a.Shop.EditSwitches)))
	r.Get("/notice", a.anyOperator(a.standingNotice))
	r.Post("/notice", a.asActor(actWith(a.Shop.TellAll)))
	r.Delete("/notice", a.asActor(a.takeBack))
	r.Get("/blocks", a.anyOperator(a.blocks))
	r.Post("/blocks", a.asActor(actWith(a.addBlock)))
	r.Delete("/blocks/:id", a.asActor(actOn(a.removeBlock)))
	a.catalogueRoutes(r)
	r.Get("/journal", a.anyOperator(a.journal))
	r.Get("/journal/verify", a.anyOperator(a.verifyJournal))
}

// asOperator passes the verified operator on to the handler.
func (a *api) asOperator(handle func(c *fiber.Ctx, who app.Identity) error) fiber.Handler {
	return a.asWho(func(c *fiber.Ctx, who app.Identity) error {
		if !who.Role.Operates() {
			return app.Fail(app.Forbidden, "this is for operators")
		}
		return handle(c, who)
	})
}

// asAdmin passes on who acts, if that is an admin.
func (a *api) asAdmin(handle func(c *fiber.Ctx, actor app.Actor) error) fiber.Handler {
	return a.asActor(func(c *fiber.Ctx, actor app.Actor) error {
		if actor.Role != app.Admin {
			return app.Fail(app.Forbidden, "this is for admins")
		}
		return handle(c, actor)
	})
}

// anyOperator is for what is the same whichever operator asks.
func (a *api) anyOperator(handle fiber.Handler) fiber.Handler {
	return a.asOperator(func(c *fiber.Ctx, _ app.Identity) error { return handle(c) })
}

func (a *api) board(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (app.BoardHistory, error) { return a.Board(ctx), nil })
}

func (a *api) anyOrder(ctx context.Context, id app.ID) (operatorOrder, error) {
	order, refund, err := a.Shop.AnyOrder(ctx, id)
	if err != nil {
		return operatorOrder{}, err
	}
	parcel, err := a.Shop.ShipmentOf(ctx, id)
	return operatorOrder{order, order.User, refund, parcel}, err
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
func (a *api) decide(yes bool) func(c *fiber.Ctx, actor app.Actor) error {
	return actOn(func(ctx context.Context, actor app.Actor, order app.ID, b noteBody) (operatorOrder, error) {
		decided, err := a.Shop.DecideRefund(ctx, actor, order, yes, b.Note)
		return operatorOrder{Order: decided, User: decided.User}, err
	})
}

func (a *api) retryRefund(ctx context.Context, actor app.Actor, order app.ID, _ noteBody) (struct{}, error) {
	return struct{}{}, a.Shop.RetryRefund(ctx, actor, order)
}
