// Package archive moves the orders of old sales to monthly tables, removes personal data from them, and drops whole
// months. It guarantees that an order is in exactly one table at every instant. It moves no order shortly before or
// after the opening of a sale.
//
//	sale closed ─▶ addresses blanked ─▶ 200 orders moved per transaction ─▶ next check planned ─▶ months dropped
package archive
