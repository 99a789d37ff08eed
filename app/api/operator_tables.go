package api

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/backoffice"
	"stampede/app/journal"
)

// longTimeout is the timeout of slow calls, for example an import: a file may have 10,000 lines, with one statement
// each.
const longTimeout = 50 * time.Second

func (h *catalogueHandlers) exportProducts(c *fiber.Ctx) error {
	return sendTable(c, longTimeout, "products.csv", h.Catalogue.Products().ExportProducts)
}

func (h *catalogueHandlers) exportSales(c *fiber.Ctx) error {
	slot, err := queryID(c, "slot")
	if err != nil {
		return err
	}
	return sendTable(c, longTimeout, "sales.csv", func(ctx context.Context) ([]byte, error) {
		return h.Catalogue.Schedule().ExportSales(ctx, slot)
	})
}

// sendTable sends a table as a file download.
func sendTable(
	c *fiber.Ctx, timeout time.Duration, name string, write func(ctx context.Context) ([]byte, error),
) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	file, err := write(ctx)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return c.Send(file)
}

// saleReportCSV sends the report of a sale as CSV.
func (h *operatorSaleHandlers) saleReportCSV(c *fiber.Ctx) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	return sendTable(c, callTimeout, "sale-"+id.String()+".csv", func(ctx context.Context) ([]byte, error) {
		report, err := h.Reports.SaleReport(ctx, id)
		return report.CSV(h.Zone), err
	})
}

// respondWithLongTimeout is respond with longTimeout.
func respondWithLongTimeout[T any](c *fiber.Ctx, call func(ctx context.Context) (T, error)) error {
	return respondWithTimeout(c, longTimeout, call)
}

// importFile returns the handler of an import.
func (h *catalogueHandlers) importFile(
	call func(ctx context.Context, actor journal.Actor, file []byte) (backoffice.ImportReport, error),
) func(c *fiber.Ctx, actor journal.Actor) error {
	return func(c *fiber.Ctx, actor journal.Actor) error {
		file, err := fileOf(c)
		if err != nil {
			return err
		}
		return respondWithLongTimeout(
			c, func(ctx context.Context) (backoffice.ImportReport, error) { return call(ctx, actor, file) },
		)
	}
}
