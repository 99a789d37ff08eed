// Package seed fills an empty shop: twelve demo products, a schedule of slots with sales, and bulk products for tests of size.
// What it makes is decided by its input alone, and making it again adds only what is missing.
package seed
