// Package demo fills a shop for trials:
//
//   - Products (seeder.go, products.go, bulk.go): twelve products, and any number of further ones for size tests.
//   - Slots (schedule.go, schedule_job.go): for the days of a real shop, or a rolling schedule without end.
//   - Shoppers (crowd.go, shopper.go, settle.go, refusal.go): simulated people. Each shopper has a WebSocket. They log
//     in as guests, watch the current slot and buy now and then. They pay for most orders at the simulated Alipay, let
//     some expire and cancel a few. They use only the public API and the cashier.
//
// Products and slots depend only on the input. A second run of the seeder adds only the missing ones.
package demo
