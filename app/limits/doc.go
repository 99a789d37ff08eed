// Package limits limits rates: token buckets in the memory of a node, and sliding windows that all nodes of a shop
// count together in Redis. A rejected call gets rate_limited with the time until the next one is accepted, and is not
// counted. deploy/RUNBOOK.md lists the layers of a shop in the order in which a client meets them, the cheapest first.
package limits
