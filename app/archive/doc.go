// Package archive moves the orders of old sales to monthly tables, removes personal data from them, and drops whole
// months. It guarantees that an order is in exactly one table at every instant, and that no order is moved around an
// opening.
//
//	sale over ─▶ addresses blanked ─▶ orders moved, 200 a transaction ─▶ sale planned again or finished ─▶ months dropped
package archive
