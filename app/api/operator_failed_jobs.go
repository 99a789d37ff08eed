package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
)

// failedJobHandlers serve dead letters, postings and e-mails that failed.
type failedJobHandlers struct {
	*front
	FailedJobs *backoffice.FailedJobs
}

// routes registers the routes for failed jobs: dead letters, postings and e-mails.
func (h *failedJobHandlers) routes(r fiber.Router) {
	r.Get("/dead", h.anyOperator(failedJobs("letters", h.FailedJobs.ListDead)))
	r.Get("/dead/:id", h.anyOperator(func(c *fiber.Ctx) error {
		id := c.Params("id")
		return respond(c, func(ctx context.Context) (shop.DeadLetter,
			error,
		) {
			return h.FailedJobs.DeadLetter(ctx, id)
		})
	}))
	r.Post("/dead/:id/replay", h.asActor(operationOnEntry(func(ctx context.Context, actor journal.Actor, id string) (any, error) {
		order, err := h.FailedJobs.ReplayDead(ctx, actor, id)
		return operatorOrder{Order: order, User: order.User}, err
	})))
	r.Post("/dead/:id/drop", h.asActor(operationOnEntry(withoutResult(h.FailedJobs.DropDead))))
	r.Get("/parked", h.anyOperator(failedJobs("postings", h.FailedJobs.ListMessages)))
	r.Post("/parked/:id/replay", h.asActor(operationOnEntry(withoutResult(h.FailedJobs.ReplayMessage))))
	r.Post("/parked/:id/drop", h.asActor(operationOnEntry(withoutResult(h.FailedJobs.DropMessage))))
	r.Get("/mails", h.anyOperator(failedJobs("mails", h.FailedJobs.ListEmails)))
	r.Post("/mails/:id/retry", h.asActor(operationOnEntry(withoutResult(h.FailedJobs.ReplayEmail))))
	r.Post("/mails/:id/drop", h.asActor(operationOnEntry(withoutResult(h.FailedJobs.DropEmail))))
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
