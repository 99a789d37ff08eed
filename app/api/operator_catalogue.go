package api

import (
	"context"
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

type (
	// productEdit is backoffice.ProductEdit, in which null removes a product from its category.
	productEdit struct {
		backoffice.ProductEdit
		CategoryID optional[shop.ID] `json:"category_id"`
	}
	imagesBody struct {
		Version int64        `json:"version"`
		Images  []shop.Image `json:"images"`
	}
	calendarResponse struct {
		Slots []shop.Slot `json:"slots"`
		Zone  string      `json:"zone"`
	}
	templateBody struct {
		backoffice.SlotTemplate
		DryRun bool `json:"dry_run"`
	}
)

// optional distinguishes an absent field (nil) from null.
type optional[T any] struct{ value *T }

// UnmarshalJSON is called if the field is present; null becomes the zero value.
func (o *optional[T]) UnmarshalJSON(text []byte) error {
	o.value = new(T)
	if string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, o.value)
}

// catalogueHandlers edit products, categories, slots and planned sales, one by one and as tables.
type catalogueHandlers struct {
	*front
	Catalogue *backoffice.CatalogueService
	// Readiness runs the checklist of a sale.
	Readiness func(ctx context.Context, sale shop.ID) (backoffice.Readiness, error)
}

func (h *catalogueHandlers) routes(r fiber.Router) {
	r.Get("/products", h.anyOperator(h.productRecords))
	r.Post("/products", h.asActor(withDryRun(operationWith(h.Catalogue.Products().CreateProduct))))
	r.Get("/products/:id", h.anyOperator(byID(h.Catalogue.Products().ProductRecord)))
	r.Patch("/products/:id", h.asActor(withDryRun(operationOn(h.editProduct))))
	r.Put("/products/:id/images", h.asActor(withDryRun(operationOn(h.setProductImages))))
	r.Post("/images", h.asActor(withDryRun(h.uploadImage)))
	r.Get("/categories", h.anyOperator(h.categoryRecords))
	r.Post("/categories", h.asActor(withDryRun(operationWith(h.Catalogue.Products().CreateCategory))))
	r.Get("/categories/:id", h.anyOperator(byID(h.Catalogue.Products().CategoryRecord)))
	r.Patch("/categories/:id", h.asActor(withDryRun(operationOn(h.Catalogue.Products().EditCategory))))
	r.Get("/slots", h.anyOperator(h.slotCalendar))
	r.Post("/slots", h.asActor(withDryRun(operationWith(h.Catalogue.Schedule().CreateSlot))))
	r.Post("/slots/template", h.asActor(withDryRun(operationWith(h.applyTemplate))))
	r.Delete("/slots/:id", h.asActor(withDryRun(operationOn(h.removeSlot))))
	r.Get("/sales", h.anyOperator(h.saleRecords))
	r.Post("/sales", h.asActor(withDryRun(operationWith(h.Catalogue.Schedule().CreateSale))))
	r.Get("/sales/:id", h.anyOperator(byID(h.Catalogue.Schedule().SaleRecord)))
	r.Patch("/sales/:id", h.asActor(withDryRun(operationOn(h.Catalogue.Schedule().EditSale))))
	r.Post("/sales/:id/copy", h.asActor(withDryRun(operationOn(h.Catalogue.Schedule().CopySale))))
	r.Get("/sales/:id/readiness", h.anyOperator(byID(h.Readiness)))
	r.Get("/export/products.csv", h.anyOperator(h.exportProducts))
	r.Get("/export/sales.csv", h.anyOperator(h.exportSales))
	r.Post("/import/products", h.asActor(withDryRun(h.importFile(h.Catalogue.Products().ImportProducts))))
	r.Post("/import/sales", h.asActor(withDryRun(h.importFile(h.Catalogue.Schedule().ImportSales))))
}

// dryRun reports whether the operation is a dry run.
func dryRun(c *fiber.Ctx) (bool, error) {
	switch c.Query("dry_run") {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, shop.Fail(shop.BadRequest, "dry_run must be true or false")
}

// withDryRun returns a handler that supports ?dry_run=true.
func withDryRun(handle func(c *fiber.Ctx, actor journal.Actor) error) func(c *fiber.Ctx, actor journal.Actor) error {
	return func(c *fiber.Ctx, actor journal.Actor) (err error) {
		if actor.DryRun, err = dryRun(c); err != nil {
			return err
		}
		return handle(c, actor)
	}
}

func (h *catalogueHandlers) productRecords(c *fiber.Ctx) error {
	q := store.ProductsQuery{Text: c.Query("q"), Archived: c.Query("archived") == "true"}
	var err error
	if q.Category, err = queryID(c, "category"); err != nil {
		return err
	}
	if q.Page, q.Size, err = paging(c); err != nil {
		return err
	}
	return respondPage(c, "products", func(ctx context.Context) ([]store.ProductRecord, bool, error) {
		return h.Catalogue.Products().ProductRecords(ctx, q)
	})
}

func (h *catalogueHandlers) editProduct(
	ctx context.Context, actor journal.Actor, id shop.ID, b productEdit,
) (backoffice.SavedProduct, error) {
	b.ProductEdit.CategoryID = b.CategoryID.value
	return h.Catalogue.Products().EditProduct(ctx, actor, id, b.ProductEdit)
}

func (h *catalogueHandlers) setProductImages(
	ctx context.Context, actor journal.Actor, id shop.ID, b imagesBody,
) (store.ProductRecord, error) {
	return h.Catalogue.Products().SetProductImages(ctx, actor, id, b.Version, b.Images)
}

func (h *catalogueHandlers) categoryRecords(c *fiber.Ctx) error {
	return respondList(c, "categories", h.Catalogue.Products().CategoryRecords)
}

// slotCalendar sends the slots of the local days from `from` to `to`; without `to`, the slots of one day.
func (h *catalogueHandlers) slotCalendar(c *fiber.Ctx) error {
	from, to := backoffice.Day(c.Query("from")), backoffice.Day(c.Query("to"))
	if to == "" {
		to = from
	}
	if from == "" {
		return shop.Fail(shop.BadRequest, "from must be a day like 2026-11-21")
	}
	begin, end, err := h.Catalogue.Schedule().Days(from, to)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (calendarResponse, error) {
		slots, err := h.Catalogue.Schedule().SlotCalendar(ctx, begin, end)
		return calendarResponse{nonNilList(slots), h.Catalogue.Schedule().TimeZone()}, err
	})
}

func (h *catalogueHandlers) applyTemplate(
	ctx context.Context, actor journal.Actor, b templateBody,
) (backoffice.SlotPlan, error) {
	actor.DryRun = actor.DryRun || b.DryRun
	return h.Catalogue.Schedule().ApplyTemplate(ctx, actor, b.SlotTemplate)
}

func (h *catalogueHandlers) removeSlot(
	ctx context.Context, actor journal.Actor, id shop.ID, _ struct{},
) (shop.Slot, error) {
	return h.Catalogue.Schedule().RemoveSlot(ctx, actor, id)
}

func (h *catalogueHandlers) saleRecords(c *fiber.Ctx) error {
	q := store.SalesQuery{
		Phase: shop.Phase(c.Query("phase")), Text: c.Query("q"), Archived: c.Query("archived") == "true",
	}
	switch q.Phase {
	case "", shop.Upcoming, shop.Open, shop.Ended:
	default:
		return shop.Fail(shop.BadRequest, "phase must be upcoming, open or closed")
	}
	var err error
	if q.Slot, err = queryID(c, "slot"); err != nil {
		return err
	}
	if q.Page, q.Size, err = paging(c); err != nil {
		return err
	}
	return respondPage(c, "sales", func(ctx context.Context) ([]store.SaleRecord, bool, error) {
		return h.Catalogue.Schedule().SaleRecords(ctx, q)
	})
}
