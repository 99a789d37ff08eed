package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// shipBody is the parcel that an operator has sent.
type shipBody struct {
	Carrier  string `json:"carrier"`
	Tracking string `json:"tracking"`
	Replace  bool   `json:"replace"`
}

func (a *api) ship(ctx context.Context, actor app.Actor, order app.ID, b shipBody) (operatorOrder, error) {
	parcel := app.Parcel{Order: order, Carrier: b.Carrier, Tracking: b.Tracking}
	shipped, err := a.Shop.Ship(ctx, actor, parcel, b.Replace)
	return operatorOrder{Order: shipped, User: shipped.User}, err
}

// confirmReceipt is the buyer's.
func (a *api) confirmReceipt(c *fiber.Ctx, user app.ID) error {
	order, err := pathID(c)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (stateAnswer, error) {
		state, err := a.Shop.ConfirmReceipt(ctx, user, order)
		return stateAnswer{state}, err
	})
}

// shipManyBody is a CSV file, in JSON so that it is asked for like everything else.
type shipManyBody struct {
	CSV     string `json:"csv"`
	Replace bool   `json:"replace"`
	DryRun  bool   `json:"dry_run"`
}

// shipMany enters the parcels of a CSV file.
func (a *api) shipMany(c *fiber.Ctx, actor app.Actor) error {
	var b shipManyBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.ShipReport, error) {
		report, err := a.Shop.ShipMany(ctx, actor, []byte(b.CSV), b.Replace, b.DryRun)
		report.Lines = list(report.Lines)
		return report, err
	})
}
