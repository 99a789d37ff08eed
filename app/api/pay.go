package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

func (a *api) pay(c *fiber.Ctx, user app.ID) error {
	order, err := pathID(c)
	if err != nil {
		return err
	}
	var b struct {
		Via string `json:"via"`
	}
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.Payable, error) {
		return a.Shop.Pay(ctx, user, order, app.PayVia(b.Via))
	})
}
