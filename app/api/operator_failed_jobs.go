package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/journal"
	"stampede/app/shop"
)

// failedJobRoutes registers the routes for failed jobs: dead letters, postings and e-mails.
func (a *api) failedJobRoutes(r fiber.Router) {
	r.Get("/dead", a.anyOperator(failedJobs("letters", a.FailedJobs.ListDead)))
	r.Get("/dead/:id", a.anyOperator(func(c *fiber.Ctx) error {
		id := c.Params("id")
		return respond(c, func(ctx context.Context) (shop.DeadLetter,
			error,
		) {
			return a.FailedJobs.DeadLetter(ctx, id)
		})
	}))
	r.Post("/dead/:id/replay", a.asActor(operationOnEntry(func(ctx context.Context, actor journal.Actor, id string) (any, error) {
		order, err := a.FailedJobs.ReplayDead(ctx, actor, id)
		return operatorOrder{Order: order, User: order.User}, err
	})))
	r.Post("/dead/:id/drop", a.asActor(operationOnEntry(withoutResult(a.FailedJobs.DropDead))))
	r.Get("/parked", a.anyOperator(failedJobs("postings", a.FailedJobs.ListMessages)))
	r.Post("/parked/:id/replay", a.asActor(operationOnEntry(withoutResult(a.FailedJobs.ReplayMessage))))
	r.Post("/parked/:id/drop", a.asActor(operationOnEntry(withoutResult(a.FailedJobs.DropMessage))))
	r.Get("/mails", a.anyOperator(failedJobs("mails", a.FailedJobs.ListEmails)))
	r.Post("/mails/:id/retry", a.asActor(operationOnEntry(withoutResult(a.FailedJobs.ReplayEmail))))
	r.Post("/mails/:id/drop", a.asActor(operationOnEntry(withoutResult(a.FailedJobs.DropEmail))))
}

// failedJobs returns the handler of a list of failed jobs.
func failedJobs[T any](name string, list func(ctx context.Context, limit int) ([]T, bool, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		limit, err := queryInt(c, "limit", defaultSize, 1, maxSize)
		if err != nil {
			return err
		}
		return respondPage(c, name, func(ctx context.Context) ([]T, bool, error) { return list(ctx, limit) })
	}
}

// maxEntry exceeds the length of any stream entry ID.
const maxEntry = 64

// operationOnEntry returns the handler of an operation on a stream entry, whose ID is a string.
func operationOnEntry[T any](
	call func(ctx context.Context, actor journal.Actor, id string) (T, error),
) func(c *fiber.Ctx, actor journal.Actor) error {
	return func(c *fiber.Ctx, actor journal.Actor) error {
		id := c.Params("id")
		if len(id) > maxEntry {
			return shop.Fail(shop.NotFound, "no such entry")
		}
		return respond(c, func(ctx context.Context) (T, error) { return call(ctx, actor, id) })
	}
}

// withoutResult adapts an operation without a result to operationOnEntry.
func withoutResult(
	op func(ctx context.Context, actor journal.Actor, id string) error,
) func(ctx context.Context, actor journal.Actor, id string) (struct{}, error) {
	return func(ctx context.Context, actor journal.Actor, id string) (struct{}, error) {
		return struct{}{}, op(ctx, actor, id)
	}
}
