package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

type (
	newBlock struct {
		Kind   app.BlockKind `json:"kind"`
		Value  string        `json:"value"`
		Reason string        `json:"reason"`
		Until  app.Millis    `json:"until"` // 0: until it is removed
	}
	blocksAnswer struct {
		Blocks []app.Block `json:"blocks"`
	}
)

// blocks lists who is kept out.
func (a *api) blocks(c *fiber.Ctx) error {
	return flow(c, func(ctx context.Context) (blocksAnswer, error) {
		all, err := a.Shop.ListBlocks(ctx)
		return blocksAnswer{list(all)}, err
	})
}

func (a *api) addBlock(ctx context.Context, actor app.Actor, b newBlock) (app.Block, error) {
	lasts := time.Duration(0)
	if b.Until != 0 {
		left := int64(b.Until) - int64(a.Shop.Now())
		if left <= 0 || left > app.LongestBlock.Milliseconds() {
			return app.Block{}, app.Fail(app.BadRequest, "until must be within the next ten years, or left out for a block without an end")
		}
		lasts = time.Duration(left) * time.Millisecond
	}
	block := app.Block{Kind: b.Kind, Value: b.Value, Reason: b.Reason}
	return a.Shop.AddBlock(ctx, actor, block, lasts)
}

func (a *api) removeBlock(ctx context.Context, actor app.Actor, id app.ID, _ noteBody) (struct{}, error) {
	return struct{}{}, a.Shop.RemoveBlock(ctx, actor, int64(id))
}
