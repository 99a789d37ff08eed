package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

type noticeResponse struct {
	Notice *shop.Notice `json:"notice,omitempty"`
}

type newBlock struct {
	Kind   store.BlockKind `json:"kind"`
	Value  string          `json:"value"`
	Reason string          `json:"reason"`
	Until  shop.Millis     `json:"until"` // 0: no end
}

// operatorShopHandlers serve what concerns the whole shop: the live board, switches, banner, texts, blocks and journal.
type operatorShopHandlers struct {
	*front
	Board    func(ctx context.Context) board.History
	Now      func() shop.Millis
	Settings *backoffice.SettingsService
	Blocks   *backoffice.BlockService
	Journal  store.Journal
}

func (h *operatorShopHandlers) routes(r fiber.Router) {
	r.Get("/board", h.anyOperator(h.board))
	r.Get("/switches", h.anyOperator(func(c *fiber.Ctx) error { return respond(c, h.Settings.Switches) }))
	r.Patch("/switches", h.asActor(operationWith(h.Settings.EditSwitches)))
	r.Get("/notice", h.anyOperator(h.currentBanner))
	r.Post("/notice", h.asActor(operationWith(h.Settings.PublishBanner)))
	r.Delete("/notice", h.asActor(h.removeBanner))
	r.Get("/texts", h.anyOperator(func(c *fiber.Ctx) error { return respondList(c, "texts", h.Settings.Texts) }))
	r.Put("/texts", h.asActor(operationWith(h.Settings.EditText)))
	r.Get("/blocks", h.anyOperator(h.blocks))
	r.Post("/blocks", h.asActor(operationWith(h.addBlock)))
	r.Delete("/blocks/:id", h.asActor(operationOn(h.removeBlock)))
	r.Get("/journal", h.anyOperator(h.journal))
	r.Get("/journal/verify", h.anyOperator(h.verifyJournal))
}

func (h *operatorShopHandlers) board(c *fiber.Ctx) error {
	return respond(c, func(ctx context.Context) (board.History, error) { return h.Board(ctx), nil })
}

func (h *operatorShopHandlers) currentBanner(c *fiber.Ctx) error {
	return respond(c, func(ctx context.Context) (noticeResponse, error) {
		n, err := h.Settings.CurrentBanner(ctx, h.Now())
		return noticeResponse{n}, err
	})
}

func (h *operatorShopHandlers) removeBanner(c *fiber.Ctx, actor journal.Actor) error {
	return respond(c, func(ctx context.Context) (shop.Notice, error) { return h.Settings.RemoveBanner(ctx, actor) })
}

// journal lists the operations of operators.
func (h *operatorShopHandlers) journal(c *fiber.Ctx) error {
	before, limit, err := parseBefore(c)
	if err != nil {
		return err
	}
	since, err := queryID(c, "since")
	if err != nil {
		return err
	}
	q := journal.Query{
		Before: int64(before), Limit: limit, Object: c.Query("object"), Actor: c.Query("actor"), Kind: c.Query("kind"),
		Since: shop.Millis(since),
	}
	return respondPage(c, "entries", func(ctx context.Context) ([]journal.Entry, bool, error) {
		return h.Journal.ListJournal(ctx, q)
	})
}

// verifyJournal verifies the whole journal.
func (h *operatorShopHandlers) verifyJournal(c *fiber.Ctx) error {
	head := c.Query("head")
	return respondWithLongTimeout(
		c, func(ctx context.Context) (journal.Report, error) { return h.Journal.VerifyJournal(ctx, head) },
	)
}

func (h *operatorShopHandlers) blocks(c *fiber.Ctx) error {
	return respondList(c, "blocks", h.Blocks.ListBlocks)
}

func (h *operatorShopHandlers) addBlock(ctx context.Context, actor journal.Actor, b newBlock) (store.Block, error) {
	duration := time.Duration(0)
	if b.Until != 0 {
		left := int64(b.Until) - int64(h.Now())
		if left <= 0 || left > backoffice.MaxBlock.Milliseconds() {
			return store.Block{}, shop.Fail(shop.BadRequest,
				"until must be within the next ten years; omit it for a block without an end")
		}
		duration = time.Duration(left) * time.Millisecond
	}
	block := store.Block{Kind: b.Kind, Value: b.Value, Reason: b.Reason}
	return h.Blocks.AddBlock(ctx, actor, block, duration)
}

func (h *operatorShopHandlers) removeBlock(
	ctx context.Context, actor journal.Actor, id shop.ID, _ noteBody,
) (struct{}, error) {
	return struct{}{}, h.Blocks.RemoveBlock(ctx, actor, int64(id))
}
