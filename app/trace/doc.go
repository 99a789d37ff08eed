// Package trace has the spans of a sampled buy: in the process, in its stream entry, and in the message of its order.
// It is independent of the collector; package export sends the spans to one.
package trace
