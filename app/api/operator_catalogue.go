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

func (a *api) catalogueRoutes(r fiber.Router) {
	r.Get("/products", a.anyOperator(a.productRecords))
	r.Post("/products", a.asActor(withDryRun(operationWith(a.Catalogue.CreateProduct))))
	r.Get("/products/:id", a.anyOperator(byID(a.Catalogue.ProductRecord)))
	r.Patch("/products/:id", a.asActor(withDryRun(operationOn(a.editProduct))))
	r.Put("/products/:id/images", a.asActor(withDryRun(operationOn(a.setProductImages))))
	r.Post("/images", a.asActor(withDryRun(a.uploadImage)))
	r.Get("/categories", a.anyOperator(a.categoryRecords))
	r.Post("/categories", a.asActor(withDryRun(operationWith(a.Catalogue.CreateCategory))))
	r.Get("/categories/:id", a.anyOperator(byID(a.Catalogue.CategoryRecord)))
	r.Patch("/categories/:id", a.asActor(withDryRun(operationOn(a.Catalogue.EditCategory))))
	r.Get("/slots", a.anyOperator(a.slotCalendar))
	r.Post("/slots", a.asActor(withDryRun(operationWith(a.Catalogue.CreateSlot))))
	r.Post("/slots/template", a.asActor(withDryRun(operationWith(a.applyTemplate))))
	r.Delete("/slots/:id", a.asActor(withDryRun(operationOn(a.removeSlot))))
	r.Get("/sales", a.anyOperator(a.saleRecords))
	r.Post("/sales", a.asActor(withDryRun(operationWith(a.Catalogue.CreateSale))))
	r.Get("/sales/:id", a.anyOperator(byID(a.Catalogue.SaleRecord)))
	r.Patch("/sales/:id", a.asActor(withDryRun(operationOn(a.Catalogue.EditSale))))
	r.Post("/sales/:id/copy", a.asActor(withDryRun(operationOn(a.Catalogue.CopySale))))
	r.Get("/sales/:id/readiness", a.anyOperator(byID(a.Readiness)))
	r.Get("/export/products.csv", a.anyOperator(a.exportProducts))
	r.Get("/export/sales.csv", a.anyOperator(a.exportSales))
	r.Post("/import/products", a.asActor(withDryRun(a.importFile(a.Catalogue.ImportProducts))))
	r.Post("/import/sales", a.asActor(withDryRun(a.importFile(a.Catalogue.ImportSales))))
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

func (a *api) productRecords(c *fiber.Ctx) error {
	q := store.ProductsQuery{Text: c.Query("q"), Archived: c.Query("archived") == "true"}
	var err error
	if q.Category, err = queryID(c, "category"); err != nil {
		return err
	}
	if q.Page, q.Size, err = paging(c); err != nil {
		return err
	}
	return respondPage(c, "products", func(ctx context.Context) ([]store.ProductRecord, bool, error) {
		return a.Catalogue.ProductRecords(ctx, q)
	})
}

func (a *api) editProduct(
	ctx context.Context, actor journal.Actor, id shop.ID, b productEdit,
) (backoffice.SavedProduct, error) {
	b.ProductEdit.CategoryID = b.CategoryID.value
	return a.Catalogue.EditProduct(ctx, actor, id, b.ProductEdit)
}

func (a *api) setProductImages(
	ctx context.Context, actor journal.Actor, id shop.ID, b imagesBody,
) (store.ProductRecord, error) {
	return a.Catalogue.SetProductImages(ctx, actor, id, b.Version, b.Images)
}

func (a *api) categoryRecords(c *fiber.Ctx) error {
	return respondList(c, "categories", a.Catalogue.CategoryRecords)
}

// slotCalendar sends the slots of the local days from `from` to `to`; without `to`, the slots of one day.
func (a *api) slotCalendar(c *fiber.Ctx) error {
	from, to := backoffice.Day(c.Query("from")), backoffice.Day(c.Query("to"))
	if to == "" {
		to = from
	}
	if from == "" {
		return shop.Fail(shop.BadRequest, "from must be a day like 2026-11-21")
	}
	begin, end, err := a.Catalogue.Days(from, to)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (calendarResponse, error) {
		slots, err := a.Catalogue.SlotCalendar(ctx, begin, end)
		return calendarResponse{nonNilList(slots), a.Catalogue.TimeZone()}, err
	})
}

func (a *api) applyTemplate(
	ctx context.Context, actor journal.Actor, b templateBody,
) (backoffice.SlotPlan, error) {
	actor.DryRun = actor.DryRun || b.DryRun
	return a.Catalogue.ApplyTemplate(ctx, actor, b.SlotTemplate)
}

func (a *api) removeSlot(
	ctx context.Context, actor journal.Actor, id shop.ID, _ struct{},
) (shop.Slot, error) {
	return a.Catalogue.RemoveSlot(ctx, actor, id)
}

func (a *api) saleRecords(c *fiber.Ctx) error {
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
		return a.Catalogue.SaleRecords(ctx, q)
	})
}
