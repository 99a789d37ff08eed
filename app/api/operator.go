package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
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

// operatorRoutes registers the routes of operators and admins.
func operatorRoutes(front *front, o *Options, r fiber.Router) {
	(&operatorShopHandlers{front, o.Board, o.Now, o.Settings, o.Blocks, o.Journal}).routes(r)
	(&searchHandlers{front, o.Search}).routes(r)
	(&adminHandlers{front, o.Users, o.FailedJobs}).routes(r)
	(&paymentHandlers{front, o.Reconciliation, o.Listing, o.Differences, o.Refunds, o.Search}).routes(r)
	(&failedJobHandlers{front, o.FailedJobs}).routes(r)
	(&operatorOrderHandlers{front, o.Refunds, o.Shipping}).routes(r)
	(&operatorSaleHandlers{front, o.Sales, o.Reports, o.Zone}).routes(r)
	(&catalogueHandlers{front, o.Catalogue, o.Readiness}).routes(r)
}

// operatorOrderHandlers serve orders of any user, their refunds and their parcels.
type operatorOrderHandlers struct {
	*front
	Refunds  *backoffice.RefundService
	Shipping *backoffice.ShippingService
}

func (h *operatorOrderHandlers) routes(r fiber.Router) {
	r.Get("/orders/:id", h.anyOperator(byID(h.anyOrder)))
	r.Post("/orders/:id/refund", h.asActor(h.decide(true)))
	r.Post("/orders/:id/ship", h.asActor(operationOn(h.ship)))
	r.Post("/ship", h.asActor(operationWith(h.shipMany)))
	r.Get("/refunds", h.anyOperator(h.refunds))
	r.Post("/refunds/:id/approve", h.asActor(h.decide(true)))
	r.Post("/refunds/:id/decline", h.asActor(h.decide(false)))
	r.Post("/refunds/:id/retry", h.asActor(operationOn(h.retryRefund)))
}

func (h *operatorOrderHandlers) anyOrder(ctx context.Context, id shop.ID) (operatorOrder, error) {
	order, refund, err := h.Refunds.Order(ctx, id)
	if err != nil {
		return operatorOrder{}, err
	}
	parcel, err := h.Shipping.ShipmentOf(ctx, id)
	return operatorOrder{order, order.User, refund, parcel}, err
}

func (h *operatorOrderHandlers) refunds(c *fiber.Ctx) error {
	q := payment.RefundsQuery{State: payment.RefundState(c.Query("state"))}
	if q.State != "" && !q.State.Valid() {
		return shop.Fail(shop.BadRequest, "state must be `requested`, `open`, `stuck`, `done` or `declined`")
	}
	var err error
	if q.Before = c.Query("before"); len(q.Before) > maxTrade {
		return shop.Fail(shop.BadRequest, "before must be the request number of a refund")
	}
	if q.Limit, err = queryInt(c, "limit", defaultSize, 1, maxSize); err != nil {
		return err
	}
	return respondPage(c, "refunds", func(ctx context.Context) ([]payment.Refund, bool, error) {
		return h.Refunds.List(ctx, q)
	})
}

// decide returns the handler that approves or declines a refund.
func (h *operatorOrderHandlers) decide(approved bool) func(c *fiber.Ctx, actor journal.Actor) error {
	return operationOn(func(ctx context.Context, actor journal.Actor, order shop.ID, b noteBody) (operatorOrder,
		error,
	) {
		decided, err := h.Refunds.Decide(ctx, actor, order, approved, b.Note)
		return operatorOrder{Order: decided, User: decided.User}, err
	})
}

func (h *operatorOrderHandlers) retryRefund(
	ctx context.Context, actor journal.Actor, order shop.ID, _ noteBody,
) (struct{}, error) {
	return struct{}{}, h.Refunds.Retry(ctx, actor, order)
}

// shipBody is the parcel of an order.
type shipBody struct {
	Carrier  string `json:"carrier"`
	Tracking string `json:"tracking"`
	Replace  bool   `json:"replace"`
	// PartRefunded confirms that an order is shipped of which a part was refunded.
	PartRefunded bool `json:"part_refunded"`
}

func (h *operatorOrderHandlers) ship(
	ctx context.Context, actor journal.Actor, order shop.ID, b shipBody,
) (operatorOrder, error) {
	parcel := store.Parcel{Order: order, Carrier: b.Carrier, Tracking: b.Tracking}
	how := store.Shipping{Replace: b.Replace, PartRefunded: b.PartRefunded}
	shipped, err := h.Shipping.Ship(ctx, actor, parcel, how)
	return operatorOrder{Order: shipped, User: shipped.User}, err
}

// shipManyBody is a CSV file in JSON.
type shipManyBody struct {
	CSV     string `json:"csv"`
	Replace bool   `json:"replace"`
	DryRun  bool   `json:"dry_run"`
}

func (h *operatorOrderHandlers) shipMany(
	ctx context.Context, actor journal.Actor, b shipManyBody,
) (backoffice.ShipReport, error) {
	actor.DryRun = b.DryRun
	report, err := h.Shipping.ShipMany(ctx, actor, []byte(b.CSV), b.Replace)
	report.Lines = nonNilList(report.Lines)
	return report, err
}
