// Package journal is the audit log of operations by operators. A change, its row in the journal and its result are one
// transaction. An operation with the same key is performed once. Each row contains the hash of the previous row, so
// that the verification detects a removed or changed row.
//
//	RunOperation ─▶ lock the head ─▶ key exists: stored result │ change, row, result ─▶ COMMIT ─▶ effects, at least once
//
// Entry points: store.Store.RunOperation and store.RunOperationFor (perform an operation), [Journal.VerifyJournal]
// (verify the hashes).
package journal
