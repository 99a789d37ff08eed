// Package limits bounds how often something may happen: token buckets in the memory of a node, and sliding windows that
// all nodes of a shop count together in Redis. Whoever is refused hears rate_limited with the time until the next try
// counts, and owes nothing for it.
//
// The layers of a shop, in the order in which a client meets them, are in deploy/RUNBOOK.md; each is cheaper than the
// one behind it.
package limits
