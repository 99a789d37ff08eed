package api

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// Rehearsals is what operators see and end of a rehearsal. It is begun where its crowd is played, by stampede rehearse.
type Rehearsals interface {
	// Under reads the rehearsal that is not gone. NotFound: there is none.
	Under(ctx context.Context) (app.Rehearsal, error)
	// EndAny ends it, whoever runs it; the sweepers remove what it has left. NotFound: there is none.
	EndAny(ctx context.Context, actor app.Actor) (app.Rehearsal, error)
}

// rehearsalAnswer has no rehearsal in it when none is under way.
type rehearsalAnswer struct {
	Rehearsal *app.Rehearsal `json:"rehearsal,omitempty"`
}

func (a *api) rehearsal(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (rehearsalAnswer, error) {
		r, err := a.Rehearsals.Under(ctx)
		if errors.Is(err, &app.Error{Code: app.NotFound}) {
			return rehearsalAnswer{}, nil
		}
		return rehearsalAnswer{&r}, err
	})
}

func (a *api) endRehearsal(c *fiber.Ctx, actor app.Actor) error {
	return flow(c, func(ctx context.Context) (rehearsalAnswer, error) {
		r, err := a.Rehearsals.EndAny(ctx, actor)
		return rehearsalAnswer{&r}, err
	})
}
