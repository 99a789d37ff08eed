// Package backoffice implements the operations of the back office: products, slots and sales; the terms and the stock
// of a running sale; parcels; blocks, settings and banners; search and reports.
//
//	operator ─▶ service: check ─▶ one transaction: change and journal ─▶ effects in Redis or on sockets, at least once
//
// A background job ([SaleFinisherJob], [FinisherJob]) repeats the effects if a process crashes between the COMMIT and
// the effect. Each change carries the version that its operator has seen. Another version is a conflict, and the error
// contains the current record. Entry points: [CatalogueService], [SaleService], [ShippingService], [BlockService],
// [SettingsService].
package backoffice
