// Package crashpoint lets a process die at a named place, between two steps whose order is what makes a crash
// harmless. In a normal build a point is nothing; built with the tag `crashpoints`, the one that was armed kills the
// process with SIGKILL: no deferred function runs, nothing is flushed. Package app/test/crash does that to every one of
// them, and lets some of them stop the process for a while (SIGSTOP).
package crashpoint

// The points, named <flow>.<where>. The flows draw their steps in their own comments.
const (
	GateCall  = "gate.before-call"  // buys have gathered, the script has not run
	GateReply = "gate.after-reply"  // the script has accepted, nobody was answered
	FulfilRow = "fulfil.before-row" // entries were read, nothing is written

	FulfilCommitted = "fulfil.after-commit"
	FinishCall      = "fulfil.before-finish" // units of refused orders are back
	FinishReply     = "fulfil.after-finish"

	EffectsMoved = "effects.after-units" // of a later state: units are back, sold or withdrawn, nobody was told
	EffectsTold  = "effects.after-tell"  // the row says that nobody was

	ExpireCommitted = "expire.after-commit"
	ExpireReturned  = "expire.after-return"
	ExpireTold      = "expire.after-tell"
	ExpireDrop      = "expire.before-drop"

	CancelCommitted = "cancel.after-commit" // of an order that had a row
	CancelInserted  = "cancel.after-insert" // of a reservation that had none

	RefundAsked     = "refund.after-ask"    // the wish is entered, the policy has not decided
	RefundDecided   = "refund.after-decide" // the order is refunding, nobody was told
	RefundSend      = "refund.before-send"
	RefundSent      = "refund.after-send"
	RefundCommitted = "refund.after-commit"

	PostAppended = "post.after-append" // the back office has it, the outbox does not know

	PayOpened    = "pay.after-open"   // the trade is noted, the gateway was not contacted
	PayCommitted = "pay.after-commit" // the money is entered

	CloseAnswered  = "close.after-answer" // the gateway has closed the trade, the order is pending
	CloseCommitted = "close.after-commit"

	LateReceived  = "late.after-receipt"
	LateClaimed   = "late.after-claim"
	LateHeld      = "late.after-hold"
	LateRevived   = "late.after-revive"
	LateRefunding = "late.after-refunding"

	RebuildPaused   = "rebuild.after-pause"
	RebuildAdvanced = "rebuild.after-advance"
	RebuildRescue   = "rebuild.in-rescue" // a batch of the old stream has its rows
	RebuildRestored = "rebuild.after-restore"
	RebuildResume   = "rebuild.before-resume"

	WarmRead    = "warm.after-read" // the database says that the sale was never loaded
	WarmCreated = "warm.after-create"
	WarmMarked  = "warm.after-mark"
	WarmArm     = "warm.before-arm"
)

// Names lists every point but those of money, in the order of the flows.
var Names = []string{
	GateCall, GateReply,
	FulfilRow, FulfilCommitted, FinishCall, FinishReply,
	ExpireCommitted, ExpireReturned, ExpireTold, ExpireDrop,
	CancelCommitted, CancelInserted, EffectsMoved, EffectsTold,
	RebuildPaused, RebuildAdvanced, RebuildRescue, RebuildRestored, RebuildResume,
	WarmRead, WarmCreated, WarmMarked, WarmArm,
}

// MoneyNames lists the points that are passed only where orders are paid.
var MoneyNames = []string{
	PayOpened, PayCommitted,
	CloseAnswered, CloseCommitted,
	LateReceived, LateClaimed, LateHeld, LateRevived, LateRefunding,
	RefundAsked, RefundDecided, RefundSend, RefundSent, RefundCommitted,
	PostAppended,
}
