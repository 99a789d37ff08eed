package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// solveBody is the answer to a task; the sale is in the address.
type solveBody struct {
	Task   string `json:"task"`
	Answer string `json:"answer"`
}

// askPass answers a pass for the sale in the address, or the task that stands before it. The body says nothing.
func (a *api) askPass(c *fiber.Ctx, who app.Identity) error {
	return a.atDesk(c, who, app.PassQuestion{}, a.Shop.AskPass)
}

// solvePass answers the pass for a solved task.
func (a *api) solvePass(c *fiber.Ctx, who app.Identity) error {
	var b solveBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	return a.atDesk(c, who, app.PassQuestion{Task: b.Task, Answer: b.Answer}, a.Shop.SolvePass)
}

func (a *api) atDesk(
	c *fiber.Ctx, who app.Identity, q app.PassQuestion,
	ask func(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error),
) (err error) {
	if err = a.passes.take(c.IP()); err != nil {
		return err
	}
	if q.Sale, err = pathID(c); err != nil {
		return err
	}
	q.User, q.From = who.User, hostAddr(c.IP())
	return flow(c, func(ctx context.Context) (app.PassAnswer, error) { return ask(app.BoundTo(ctx, &who), q) })
}
