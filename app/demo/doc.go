// Package demo makes a shop that people can try out:
//
//   - what is sold (seeder.go, products.go, bulk.go): twelve products, and as many more as a test of size wants
//   - when it is sold (schedule.go, keeper.go): slots for the days of a real shop, or rolling ones that never end
//   - who buys (crowd.go, shopper.go, refusal.go): simulated people, each on a WebSocket of their own, who come in as
//     guests, watch the current slot, buy now and then, sometimes cancel and mostly forget to pay. They use nothing but
//     what any client may.
//
// Products and slots depend on the input only. Running the seeder again adds only what is missing.
package demo
