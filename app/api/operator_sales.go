package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
)

type (
	// saleBody contains the version of the sale that the operator has read, and a note.
	saleBody struct {
		Version int64  `json:"version"`
		Note    string `json:"note"`
	}
	stockBody struct {
		saleBody
		Units int64 `json:"units"` // negative: units to withdraw
	}
	challengeBody struct {
		saleBody
		Challenge shop.Challenge `json:"challenge"`
	}
	guestsBody struct {
		Guests int    `json:"guests"`
		Note   string `json:"note"`
	}
	guestsResponse struct {
		Tokens []string `json:"tokens"`
	}
	stockResponse struct {
		backoffice.OperatorSale
		Withdrawal *shop.StockWithdrawal `json:"withdrawal,omitempty"`
	}
)

func (b saleBody) operation() (backoffice.SaleOperation, error) {
	if b.Version < 1 {
		return backoffice.SaleOperation{}, shop.Fail(shop.BadRequest,
			"version is missing: send the version of the sale that you have read")
	}
	return backoffice.SaleOperation{Version: b.Version, Note: b.Note}, nil
}

// saleOperation adapts an operation that needs only the sale and its version to operationOn.
func saleOperation(
	call func(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleOperation,
	) (backoffice.OperatorSale, error),
) func(ctx context.Context, actor journal.Actor, sale shop.ID, b saleBody) (backoffice.OperatorSale, error) {
	return func(ctx context.Context, actor journal.Actor, sale shop.ID, b saleBody) (backoffice.OperatorSale, error) {
		op, err := b.operation()
		if err != nil {
			return backoffice.OperatorSale{}, err
		}
		return call(ctx, actor, sale, op)
	}
}

// operatorSaleHandlers change running sales and report on them.
type operatorSaleHandlers struct {
	*front
	Sales   *backoffice.SaleService
	Reports *backoffice.ReportService
	Zone    *time.Location
}

func (h *operatorSaleHandlers) routes(r fiber.Router) {
	r.Get("/sales/:id/report", h.anyOperator(byID(h.Reports.SaleReport)))
	r.Get("/sales/:id/report.csv", h.anyOperator(h.saleReportCSV))
	r.Post("/sales/:id/pause", h.asActor(operationOn(saleOperation(h.Sales.PauseSale))))
	r.Post("/sales/:id/resume", h.asActor(operationOn(saleOperation(h.Sales.ResumeSale))))
	r.Post("/sales/:id/end", h.asActor(operationOn(saleOperation(h.Sales.EndSale))))
	r.Post("/sales/:id/stock", h.asActor(operationOn(h.changeStock)))
	r.Post("/sales/:id/challenge", h.asActor(operationOn(h.setChallenge)))
	r.Post("/sales/:id/guests", h.asActor(operationOn(h.addGuests)))
}

func (h *operatorSaleHandlers) changeStock(
	ctx context.Context, actor journal.Actor, sale shop.ID, b stockBody,
) (out stockResponse, err error) {
	op, err := b.operation()
	if err != nil {
		return out, err
	}
	if b.Units >= 0 {
		out.OperatorSale, err = h.Sales.AddStock(ctx, actor, sale, op, b.Units)
		return out, err
	}
	var withdrawal shop.StockWithdrawal
	out.OperatorSale, withdrawal, err = h.Sales.WithdrawStock(ctx, actor, sale, op, -b.Units)
	out.Withdrawal = &withdrawal
	return out, err
}

func (h *operatorSaleHandlers) setChallenge(
	ctx context.Context, actor journal.Actor, sale shop.ID, b challengeBody,
) (backoffice.OperatorSale, error) {
	op, err := b.operation()
	if err != nil {
		return backoffice.OperatorSale{}, err
	}
	return h.Sales.SetSaleChallenge(ctx, actor, sale, op, b.Challenge)
}

func (h *operatorSaleHandlers) addGuests(
	ctx context.Context, actor journal.Actor, sale shop.ID, b guestsBody,
) (guestsResponse, error) {
	tokens, err := h.Sales.AddGuests(ctx, actor, sale, b.Guests)
	return guestsResponse{tokens}, err
}
