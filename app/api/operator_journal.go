package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type journalAnswer struct {
	Entries []app.JournalEntry `json:"entries"`
	More    bool               `json:"more"`
}

// journal lists what operators have done.
func (a *api) journal(c *fiber.Ctx) error {
	before, limit, err := before(c)
	if err != nil {
		return err
	}
	since, err := queryID(c, "since")
	if err != nil {
		return err
	}
	q := app.JournalQuery{
		Before: int64(before), Limit: limit, Object: c.Query("object"), Actor: c.Query("actor"), Kind: c.Query("kind"),
		Since: app.Millis(since),
	}
	return flow(c, func(ctx context.Context) (journalAnswer, error) {
		entries, more, err := a.Shop.ListJournal(ctx, q)
		return journalAnswer{list(entries), more}, err
	})
}

// verifyJournal walks along all of it.
func (a *api) verifyJournal(c *fiber.Ctx) error {
	head := c.Query("head")
	return slowFlow(c, func(ctx context.Context) (app.JournalReport, error) { return a.Shop.VerifyJournal(ctx, head) })
}
