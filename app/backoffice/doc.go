// Package backoffice is what operators do and see: products, slots and sales; the terms and the stock of a running
// sale; parcels; blocks, settings and notices; search and reports.
//
//	operator ─▶ desk: check ─▶ one transaction: change and journal ─▶ effects in Redis or on sockets, at least once
//
// A crash between the COMMIT and the effect is completed by a background job ([SaleFinisher], [Finisher]). Each change
// names the version that its operator has seen; another version is a conflict and carries the present state. Entry
// points: [CatalogueDesk], [SaleDesk], [ShippingDesk], [BlockDesk], [SwitchDesk].
package backoffice
