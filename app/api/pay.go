package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// payAnswer is where and until when the buyer pays.
type payAnswer struct {
	app.Payment
	PayBy app.Millis `json:"pay_by"`
}

func (a *api) pay(c *fiber.Ctx, user app.ID) error {
	order, err := pathID(c)
	if err != nil {
		return err
	}
	var b struct {
		Via string `json:"via"`
	}
	if err := decode(c.Body(), &b); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (payAnswer, error) {
		payment, payBy, err := a.Shop.Pay(ctx, user, order, app.PayVia(b.Via))
		return payAnswer{payment, payBy}, err
	})
}
