package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type noticeAnswer struct {
	Notice *app.Notice `json:"notice,omitempty"`
}

func (a *api) standingNotice(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (noticeAnswer, error) {
		n, err := a.Shop.StandingNotice(ctx, a.Shop.Now())
		return noticeAnswer{n}, err
	})
}

func (a *api) takeBack(c *fiber.Ctx, actor app.Actor) error {
	return flow(c, func(ctx context.Context) (app.Notice, error) { return a.Shop.TakeBack(ctx, actor) })
}
