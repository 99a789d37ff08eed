package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

type (
	compareBody struct {
		Day string `json:"day"`
	}
	refundAnomaliesBody struct {
		TradeNo string          `json:"trade_no"`
		State   payment.Outcome `json:"state"`
		Note    string          `json:"note"`
	}
)

// paymentHandlers find payments, compare them with the gateway and refund those that do not fit an order.
type paymentHandlers struct {
	*front
	Reconciliation *payment.DailyReconciliation
	Listing        *payment.Listing
	Differences    store.Differences
	Refunds        *backoffice.RefundService
	Search         *backoffice.SearchService
}

func (h *paymentHandlers) routes(r fiber.Router) {
	r.Get("/payments", h.anyOperator(h.searchPayments))
	r.Get("/payments/differences", h.anyOperator(h.listDifferences))
	r.Get("/payments/reconciliation", h.anyOperator(h.reconcileDay))
	r.Post("/payments/lists", h.asActor(h.compareLists))
	r.Post("/payments/refund", h.asActor(operationWith(h.refundAnomalies)))
}

// maxTrade is the maximum length of a trade number in bytes.
const maxTrade = 64

func (h *paymentHandlers) searchPayments(c *fiber.Ctx) error {
	q := store.PaymentSearch{Outcome: payment.Outcome(c.Query("state")), Before: c.Query("before")}
	if q.Outcome != "" && !q.Outcome.Valid() {
		return shop.Fail(shop.BadRequest, "state must be taken, late, revived, refunding, refunded, unknown_order, "+
			"wrong_amount, second_trade or never_payable")
	}
	if len(q.Before) > maxTrade {
		return shop.Fail(shop.BadRequest, "before must be a trade number")
	}
	var err error
	if q.Limit, err = queryInt(c, "limit", defaultSize, 1, maxSize); err != nil {
		return err
	}
	text := c.Query("q")
	return respondPage(c, "payments", func(ctx context.Context) ([]payment.ReceivedPayment, bool, error) {
		return h.Search.SearchPayments(ctx, q, text)
	})
}

// maxDifferences is the maximum number of differences in a response; the oldest come first.
const maxDifferences = 1000

func (h *paymentHandlers) listDifferences(c *fiber.Ctx) error {
	return respondList(c, "differences", func(ctx context.Context) ([]payment.PayDifference, error) {
		found, err := h.Differences.List(ctx, maxDifferences)
		return found, shop.Unavailable("the differences", err)
	})
}

// reconcileDay queries the gateway for up to a few hundred orders, which takes seconds.
func (h *paymentHandlers) reconcileDay(c *fiber.Ctx) error {
	day, err := parseDay(c.Query("day"))
	if err != nil {
		return err
	}
	after, err := queryID(c, "after")
	if err != nil {
		return err
	}
	return respondWithLongTimeout(c, func(ctx context.Context) (payment.ReconciliationReport, error) {
		return h.Reconciliation.ReconcileDay(ctx, day, after)
	})
}

// compareLists reads the gateway's lists of a day, which may have many pages. It settles what differs, as the daily
// comparison does.
func (h *paymentHandlers) compareLists(c *fiber.Ctx, _ journal.Actor) error {
	var b compareBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	day, err := parseDay(b.Day)
	if err != nil {
		return err
	}
	from, to := payment.CalendarDay(day, h.Reconciliation.Zone)
	return respondWithLongTimeout(c, func(ctx context.Context) (payment.ListingReport, error) {
		r, err := h.Listing.Compare(ctx, shop.MillisOf(from), shop.MillisOf(to))
		return r, shop.UnknownOutcome("compare with the gateway's lists", err)
	})
}

func parseDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, shop.Fail(shop.BadRequest, "day must be a date like 2026-11-21")
	}
	return day, nil
}

func (h *paymentHandlers) refundAnomalies(
	ctx context.Context, actor journal.Actor, b refundAnomaliesBody,
) (backoffice.RefundedAnomalies, error) {
	return h.Refunds.RefundAnomalies(ctx, actor, b.TradeNo, b.State)
}
