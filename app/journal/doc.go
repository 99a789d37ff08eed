// Package journal records what operators do. The promise: a change, its row in the journal and its answer are one
// transaction; the same key does it once; each row contains the hash of the row before it, so that a removed or changed
// row is found.
//
//	Act ─▶ lock the head ─▶ key known: stored answer │ change, row, answer ─▶ COMMIT ─▶ effects, at least once
//
// Entry points: store.Store.Act and store.ActFor (do something as an operator), [Journal.VerifyJournal] (check the
// hashes).
package journal
