// Package archive moves the orders of old sales to tables of their months, removes personal data from them, and drops
// whole months. The promise: an order is in exactly one table at every instant, and nothing moves around an opening.
//
//	sale over ─▶ addresses blanked ─▶ orders moved, 200 a transaction ─▶ sale planned again or finished ─▶ months dropped
package archive
