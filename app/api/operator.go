package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

type (
	// operatorOrder is an order with the fields for operators.
	operatorOrder struct {
		shop.Order
		User     shop.ID         `json:"user"`
		Refund   *payment.Refund `json:"refund,omitempty"`
		Shipment *store.Shipment `json:"shipment,omitempty"`
	}
	// noteBody is an optional note on a decision.
	noteBody struct {
		Note string `json:"note"`
	}
)

// operatorRoutes registers the routes for tokens with the role operator or admin.
func (a *api) operatorRoutes(r fiber.Router) {
	r.Get("/board", a.anyOperator(a.board))
	a.searchRoutes(r)
	a.adminRoutes(r)
	a.failedJobRoutes(r)
	r.Get("/sales/:id/report", a.anyOperator(byID(a.SaleReport)))
	r.Get("/sales/:id/report.csv", a.anyOperator(a.saleReportCSV))
	r.Get("/orders/:id", a.anyOperator(byID(a.anyOrder)))
	r.Post("/orders/:id/refund", a.asActor(a.decide(true)))
	r.Post("/orders/:id/ship", a.asActor(operationOn(a.ship)))
	r.Post("/ship", a.asActor(operationWith(a.shipMany)))
	r.Get("/refunds", a.anyOperator(a.refunds))
	r.Post("/refunds/:id/approve", a.asActor(a.decide(true)))
	r.Post("/refunds/:id/decline", a.asActor(a.decide(false)))
	r.Post("/refunds/:id/retry", a.asActor(operationOn(a.retryRefund)))
	r.Post("/sales/:id/pause", a.asActor(operationOn(saleOperation(a.Sales.PauseSale))))
	r.Post("/sales/:id/resume", a.asActor(operationOn(saleOperation(a.Sales.ResumeSale))))
	r.Post("/sales/:id/end", a.asActor(operationOn(saleOperation(a.Sales.EndSale))))
	r.Post("/sales/:id/stock", a.asActor(operationOn(a.changeStock)))
	r.Post("/sales/:id/challenge", a.asActor(operationOn(a.setChallenge)))
	r.Post("/sales/:id/guests", a.asActor(operationOn(a.addGuests)))
	r.Get("/switches", a.anyOperator(func(c *fiber.Ctx) error { return respond(c, a.Settings.Switches) }))
	r.Patch("/switches", a.asActor(operationWith(a.Settings.EditSwitches)))
	r.Get("/notice", a.anyOperator(a.currentBanner))
	r.Post("/notice", a.asActor(operationWith(a.Settings.PublishBanner)))
	r.Delete("/notice", a.asActor(a.removeBanner))
	r.Get("/texts", a.anyOperator(func(c *fiber.Ctx) error { return respondList(c, "texts", a.Settings.Texts) }))
	r.Put("/texts", a.asActor(operationWith(a.Settings.EditText)))
	r.Get("/blocks", a.anyOperator(a.blocks))
	r.Post("/blocks", a.asActor(operationWith(a.addBlock)))
	r.Delete("/blocks/:id", a.asActor(operationOn(a.removeBlock)))
	a.catalogueRoutes(r)
	r.Get("/journal", a.anyOperator(a.journal))
	r.Get("/journal/verify", a.anyOperator(a.verifyJournal))
}

// asOperator passes the verified operator to the handler.
func (a *api) asOperator(handle func(c *fiber.Ctx, who shop.Identity) error) fiber.Handler {
	return a.asIdentity(func(c *fiber.Ctx, who shop.Identity) error {
		if !who.Role.IsOperator() {
			return shop.Fail(shop.Forbidden, "this requires the role operator or admin")
		}
		return handle(c, who)
	})
}

// asAdmin is asActor for operations that require the role admin.
func (a *api) asAdmin(handle func(c *fiber.Ctx, actor journal.Actor) error) fiber.Handler {
	return a.asActor(func(c *fiber.Ctx, actor journal.Actor) error {
		if actor.Role != shop.Admin {
			return shop.Fail(shop.Forbidden, "this requires the role admin")
		}
		return handle(c, actor)
	})
}

// anyOperator is for responses that do not depend on the operator.
func (a *api) anyOperator(handle fiber.Handler) fiber.Handler {
	return a.asOperator(func(c *fiber.Ctx, _ shop.Identity) error { return handle(c) })
}

func (a *api) board(c *fiber.Ctx) error {
	return respond(c, func(ctx context.Context) (board.History, error) { return a.Board(ctx), nil })
}

func (a *api) anyOrder(ctx context.Context, id shop.ID) (operatorOrder, error) {
	order, refund, err := a.Refunds.Order(ctx, id)
	if err != nil {
		return operatorOrder{}, err
	}
	parcel, err := a.Shipping.ShipmentOf(ctx, id)
	return operatorOrder{order, order.User, refund, parcel}, err
}

func (a *api) refunds(c *fiber.Ctx) error {
	q := payment.RefundsQuery{State: payment.RefundState(c.Query("state"))}
	if q.State != "" && !q.State.Valid() {
		return shop.Fail(shop.BadRequest, "state must be `asked`, `open`, `stuck`, `done` or `declined`")
	}
	var err error
	if q.Before, q.Limit, err = parseBefore(c); err != nil {
		return err
	}
	return respondPage(c, "refunds", func(ctx context.Context) ([]payment.Refund, bool, error) {
		return a.Refunds.List(ctx, q)
	})
}

// decide returns the handler that approves or declines a refund.
func (a *api) decide(approved bool) func(c *fiber.Ctx, actor journal.Actor) error {
	return operationOn(func(ctx context.Context, actor journal.Actor, order shop.ID, b noteBody) (operatorOrder,
		error,
	) {
		decided, err := a.Refunds.Decide(ctx, actor, order, approved, b.Note)
		return operatorOrder{Order: decided, User: decided.User}, err
	})
}

func (a *api) retryRefund(ctx context.Context, actor journal.Actor, order shop.ID, _ noteBody) (struct{}, error) {
	return struct{}{}, a.Refunds.Retry(ctx, actor, order)
}

type noticeResponse struct {
	Notice *shop.Notice `json:"notice,omitempty"`
}

func (a *api) currentBanner(c *fiber.Ctx) error {
	return respond(c, func(ctx context.Context) (noticeResponse, error) {
		n, err := a.Settings.CurrentBanner(ctx, a.Now())
		return noticeResponse{n}, err
	})
}

func (a *api) removeBanner(c *fiber.Ctx, actor journal.Actor) error {
	return respond(c, func(ctx context.Context) (shop.Notice, error) { return a.Settings.RemoveBanner(ctx, actor) })
}

// journal lists the operations of operators.
func (a *api) journal(c *fiber.Ctx) error {
	before, limit, err := parseBefore(c)
	if err != nil {
		return err
	}
	since, err := queryID(c, "since")
	if err != nil {
		return err
	}
	q := journal.Query{
		Before: int64(before), Limit: limit, Object: c.Query("object"), Actor: c.Query("actor"), Kind: c.Query("kind"),
		Since: shop.Millis(since),
	}
	return respondPage(c, "entries", func(ctx context.Context) ([]journal.Entry, bool, error) {
		return a.Journal.ListJournal(ctx, q)
	})
}

// verifyJournal verifies the whole journal.
func (a *api) verifyJournal(c *fiber.Ctx) error {
	head := c.Query("head")
	return respondWithLongTimeout(
		c, func(ctx context.Context) (journal.Report, error) { return a.Journal.VerifyJournal(ctx, head) },
	)
}

// shipBody is the parcel of an order.
type shipBody struct {
	Carrier  string `json:"carrier"`
	Tracking string `json:"tracking"`
	Replace  bool   `json:"replace"`
}

func (a *api) ship(ctx context.Context, actor journal.Actor, order shop.ID, b shipBody) (operatorOrder, error) {
	parcel := store.Parcel{Order: order, Carrier: b.Carrier, Tracking: b.Tracking}
	shipped, err := a.Shipping.Ship(ctx, actor, parcel, b.Replace)
	return operatorOrder{Order: shipped, User: shipped.User}, err
}

// shipManyBody is a CSV file in JSON.
type shipManyBody struct {
	CSV     string `json:"csv"`
	Replace bool   `json:"replace"`
	DryRun  bool   `json:"dry_run"`
}

func (a *api) shipMany(ctx context.Context, actor journal.Actor, b shipManyBody) (backoffice.ShipReport, error) {
	actor.DryRun = b.DryRun
	report, err := a.Shipping.ShipMany(ctx, actor, []byte(b.CSV), b.Replace)
	report.Lines = nonNilList(report.Lines)
	return report, err
}

type newBlock struct {
	Kind   store.BlockKind `json:"kind"`
	Value  string          `json:"value"`
	Reason string          `json:"reason"`
	Until  shop.Millis     `json:"until"` // 0: no end
}

func (a *api) blocks(c *fiber.Ctx) error { return respondList(c, "blocks", a.Blocks.ListBlocks) }

func (a *api) addBlock(ctx context.Context, actor journal.Actor, b newBlock) (store.Block, error) {
	duration := time.Duration(0)
	if b.Until != 0 {
		left := int64(b.Until) - int64(a.Now())
		if left <= 0 || left > backoffice.MaxBlock.Milliseconds() {
			return store.Block{}, shop.Fail(shop.BadRequest,
				"until must be within the next ten years; omit it for a block without an end")
		}
		duration = time.Duration(left) * time.Millisecond
	}
	block := store.Block{Kind: b.Kind, Value: b.Value, Reason: b.Reason}
	return a.Blocks.AddBlock(ctx, actor, block, duration)
}

func (a *api) removeBlock(ctx context.Context, actor journal.Actor, id shop.ID, _ noteBody) (struct{}, error) {
	return struct{}{}, a.Blocks.RemoveBlock(ctx, actor, int64(id))
}
