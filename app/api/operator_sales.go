package api

import (
	"context"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
)

type (
	// saleBody contains the version of the sale that the operator has seen, and a note.
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
	guestsAnswer struct {
		Tokens []string `json:"tokens"`
	}
	stockAnswer struct {
		backoffice.OperatorSale
		Withdrawal *shop.StockAct `json:"withdrawal,omitempty"`
	}
)

func (b saleBody) act() (backoffice.SaleAct, error) {
	if b.Version < 1 {
		return backoffice.SaleAct{}, shop.Fail(shop.BadRequest,
			"version is missing: send the version of the sale that you have read")
	}
	return backoffice.SaleAct{Version: b.Version, Note: b.Note}, nil
}

// saleAct returns the handler of an operation that needs only the sale.
func saleAct(
	do func(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
	) (backoffice.OperatorSale, error),
) func(ctx context.Context, actor journal.Actor, sale shop.ID, b saleBody) (backoffice.OperatorSale, error) {
	return func(ctx context.Context, actor journal.Actor, sale shop.ID, b saleBody) (backoffice.OperatorSale, error) {
		act, err := b.act()
		if err != nil {
			return backoffice.OperatorSale{}, err
		}
		return do(ctx, actor, sale, act)
	}
}

func (a *api) changeStock(
	ctx context.Context, actor journal.Actor, sale shop.ID, b stockBody,
) (out stockAnswer, err error) {
	act, err := b.act()
	if err != nil {
		return out, err
	}
	if b.Units >= 0 {
		out.OperatorSale, err = a.Sales.AddStock(ctx, actor, sale, act, b.Units)
		return out, err
	}
	var gone shop.StockAct
	out.OperatorSale, gone, err = a.Sales.WithdrawStock(ctx, actor, sale, act, -b.Units)
	out.Withdrawal = &gone
	return out, err
}

func (a *api) setChallenge(
	ctx context.Context, actor journal.Actor, sale shop.ID, b challengeBody,
) (backoffice.OperatorSale, error) {
	act, err := b.act()
	if err != nil {
		return backoffice.OperatorSale{}, err
	}
	return a.Sales.SetSaleChallenge(ctx, actor, sale, act, b.Challenge)
}

func (a *api) addGuests(ctx context.Context, actor journal.Actor, sale shop.ID, b guestsBody) (guestsAnswer, error) {
	tokens, err := a.Sales.AddGuests(ctx, actor, sale, b.Guests)
	return guestsAnswer{tokens}, err
}
