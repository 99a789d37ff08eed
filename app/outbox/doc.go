// Package outbox sends messages that a transaction has stored: postings to the shop's back office, and e-mails. A
// committed message is appended to a stream at least once. The loss of a stream is detected, and its messages are
// appended again.
//
//	COMMIT (order, outbox row) ─▶ [Sender]: claim ─▶ append to the stream ─▶ mark sent ─▶ a worker of streams delivers
//
// A message that its receiver rejects is quarantined; an operator replays or drops it.
package outbox
