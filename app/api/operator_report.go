package api

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// saleReportCSV answers the report of a sale for spreadsheets.
func (a *api) saleReportCSV(c *fiber.Ctx) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), flowTimeout)
	defer cancel()
	report, err := a.Shop.SaleReport(ctx, id)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="sale-`+id.String()+`.csv"`)
	return c.Send(report.CSV(a.Zone))
}
