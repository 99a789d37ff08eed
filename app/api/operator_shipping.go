package api

import (
	"context"

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

// shipManyBody is a CSV file, in JSON so that it is asked for like everything else.
type shipManyBody struct {
	CSV     string `json:"csv"`
	Replace bool   `json:"replace"`
	DryRun  bool   `json:"dry_run"`
}

func (a *api) shipMany(ctx context.Context, actor app.Actor, b shipManyBody) (app.ShipReport, error) {
	report, err := a.Shop.ShipMany(ctx, actor, []byte(b.CSV), b.Replace, b.DryRun)
	report.Lines = list(report.Lines)
	return report, err
}
