// Package outbox sends what a transaction has decided to send: postings to the shop's back office, and e-mails. The
// promise: what was committed is appended to a stream at least once, and a lost stream is noticed and filled again.
//
//	COMMIT (order, outbox row) ─▶ [Sender]: claim ─▶ append to the stream ─▶ mark sent ─▶ a worker of streams delivers
//
// A receiver that rejects a message parks it (quarantine); an operator retries or drops it.
package outbox
