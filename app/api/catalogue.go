package api

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/catalog"
	"stampede/app/limits"
	"stampede/app/shop"
)

type timeResponse struct {
	Now shop.Millis `json:"now"`
}

// shopHandlers serve what every shopper sees: slots, sales, products, texts and pictures.
type shopHandlers struct {
	*front
	Storefront *catalog.Storefront
	Pictures   *backoffice.Pictures
	Texts      func() *backoffice.PublishedTexts
	Now        func() shop.Millis
	Zone       *time.Location
}

// routes registers the routes under the API path; the page and the pictures have other paths.
func (h *shopHandlers) routes(v1 fiber.Router) {
	v1.Get("/time", h.time)
	v1.Get("/shop", h.limit(limits.List), h.shop)
	v1.Get("/shop/texts/:name", h.limit(limits.List), h.pageText)
	v1.Get("/slots", h.limit(limits.List), h.slots)
	v1.Get("/slots/:id/sales", h.limit(limits.List), h.salesOfSlot)
	v1.Get("/sales", h.limit(limits.List), h.sales)
	v1.Get("/sales/:id", h.limit(limits.List), byID(h.Storefront.Sale))
	v1.Get("/sales/:id/calendar", h.limit(limits.List), h.calendar)
	v1.Get("/products", h.limit(limits.List), h.products)
	v1.Get("/products/:id", h.limit(limits.List), byID(h.Storefront.Product))
	v1.Get("/categories", h.limit(limits.List), h.categories)
}

func (h *shopHandlers) time(c *fiber.Ctx) error { return c.JSON(timeResponse{h.Now()}) }

// shop sends the names and languages of the texts of the page.
func (h *shopHandlers) shop(c *fiber.Ctx) error { return respondText(c, h.Texts().List) }

// pageText sends one text of the page, in the other language if it is not set in the requested one.
func (h *shopHandlers) pageText(c *fiber.Ctx) error {
	lang, err := shop.ParseLang(c.Query("lang"))
	if err != nil {
		return err
	}
	text, ok := h.Texts().Texts[c.Params("name")][lang]
	if !ok {
		return shop.Fail(shop.NotFound, "the text is not set")
	}
	return respondText(c, text)
}

// respondText sends JSON about texts of the page. They change rarely, so browsers and proxies may cache it.
func respondText(c *fiber.Ctx, body []byte) error {
	c.Set(fiber.HeaderCacheControl, "public, max-age=60")
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(body)
}

func (h *shopHandlers) slots(c *fiber.Ctx) error {
	var day *time.Time
	if text := c.Query("day"); text != "" {
		parsed, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return shop.Fail(shop.BadRequest, "day must be a date like 2026-11-21")
		}
		day = &parsed
	}
	return h.cached(c, "slots", day, 0, func() error {
		return respondList(c, "slots", func(ctx context.Context) ([]shop.Slot, error) {
			return h.Storefront.Slots(ctx, day)
		})
	})
}

func (h *shopHandlers) salesOfSlot(c *fiber.Ctx) error {
	slot, err := pathID(c)
	if err != nil {
		return err
	}
	return h.cached(c, "sales of slot", slot, 0, func() error {
		return respondPage(c, "sales", func(ctx context.Context) ([]shop.SaleView, bool, error) {
			sales, err := h.Storefront.SalesOfSlot(ctx, slot)
			return sales, false, err
		})
	})
}

func (h *shopHandlers) sales(c *fiber.Ctx) error {
	phase := shop.Phase(c.Query("phase", string(shop.Open)))
	if phase != shop.Upcoming && phase != shop.Open && phase != shop.Ended {
		return shop.Fail(shop.BadRequest, "phase must be upcoming, open or closed")
	}
	page, size, err := paging(c)
	if err != nil {
		return err
	}
	return h.cached(c, "sales", []any{phase, page, size}, 0, func() error {
		return respondPage(c, "sales", func(ctx context.Context) ([]shop.SaleView, bool, error) {
			return h.Storefront.SalesByPhase(ctx, phase, page, size)
		})
	})
}

func (h *shopHandlers) products(c *fiber.Ctx) error {
	category, err := queryID(c, "category")
	if err != nil {
		return err
	}
	page, size, err := paging(c)
	if err != nil {
		return err
	}
	return h.cached(c, "products", []any{category, page, size}, 0, func() error {
		return respondPage(c, "products", func(ctx context.Context) ([]shop.Product, bool, error) {
			return h.Storefront.Products(ctx, category, page, size)
		})
	})
}

func (h *shopHandlers) categories(c *fiber.Ctx) error {
	return h.cached(c, "categories", nil, 0, func() error { return respondList(c, "categories", h.Storefront.Categories) })
}

// pathID parses the id in the path.
func pathID(c *fiber.Ctx) (shop.ID, error) {
	id, err := shop.ParseID(c.Params("id"))
	if err != nil {
		return 0, shop.Fail(shop.BadRequest, err.Error())
	}
	return id, nil
}

// queryID parses an optional id. It returns 0 if the parameter is absent.
func queryID(c *fiber.Ctx, name string) (shop.ID, error) {
	text := c.Query(name)
	if text == "" {
		return 0, nil
	}
	id, err := shop.ParseID(text)
	if err != nil {
		return 0, shop.Fail(shop.BadRequest, name+": "+err.Error())
	}
	return id, nil
}

const (
	defaultSize = 20
	maxSize     = 100
	maxRow      = 10_000 // maximum row of a paged list: for each page the database reads all rows before it
)

// paging parses the query parameters page (first page: 1) and size.
func paging(c *fiber.Ctx) (page, size int, err error) {
	if size, err = queryInt(c, "size", defaultSize, 1, maxSize); err != nil {
		return 0, 0, err
	}
	page, err = queryInt(c, "page", 1, 1, maxRow/size)
	return page, size, err
}

// parseBefore parses the query parameters before and limit of a list that starts with the newest item.
func parseBefore(c *fiber.Ctx) (id shop.ID, limit int, err error) {
	if id, err = queryID(c, "before"); err != nil {
		return 0, 0, err
	}
	limit, err = queryInt(c, "limit", defaultSize, 1, maxSize)
	return id, limit, err
}

func queryInt(c *fiber.Ctx, name string, fallback, low, high int) (int, error) {
	text := c.Query(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, shop.Fail(shop.BadRequest, fmt.Sprintf("%s must be a whole number from %d to %d", name, low, high))
	}
	return n, nil
}

// nonNilList replaces nil by an empty list, so that clients never receive null.
func nonNilList[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
