package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

func (a *api) refund(c *fiber.Ctx, user app.ID) error {
	order, err := pathID(c)
	if err != nil {
		return err
	}
	var b struct {
		Reason string `json:"reason"`
	}
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (stateAnswer, error) {
		state, err := a.Shop.AskRefund(ctx, user, order, b.Reason)
		return stateAnswer{state}, err
	})
}
