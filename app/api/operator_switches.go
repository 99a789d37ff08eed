package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

func (a *api) switches(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (app.Switches, error) { return a.Shop.Switches(ctx) })
}

func (a *api) editSwitches(c *fiber.Ctx, actor app.Actor) error {
	var e app.SwitchesEdit
	if err := decode(raw(c), &e); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.Switches, error) { return a.Shop.EditSwitches(ctx, actor, e) })
}

type noticeAnswer struct {
	Notice *app.Notice `json:"notice,omitempty"`
}

func (a *api) standingNotice(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (noticeAnswer, error) {
		n, err := a.Shop.StandingNotice(ctx, a.Shop.Now())
		return noticeAnswer{n}, err
	})
}

func (a *api) tellAll(c *fiber.Ctx, actor app.Actor) error {
	var n app.NewNotice
	if err := decode(raw(c), &n); err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.Notice, error) { return a.Shop.TellAll(ctx, actor, n) })
}

func (a *api) takeBack(c *fiber.Ctx, actor app.Actor) error {
	return flow(c, func(ctx context.Context) (app.Notice, error) { return a.Shop.TakeBack(ctx, actor) })
}
