// Package admission issues passes. A sale can require a pass for each buy: issued on request, for a proof of work, or
// for a captcha. A pass is bound to user, sale and time, is accepted once, and is not stored on the node.
//
//	[PassService.RequestPass] ─▶ not_open, closed │ a pass │ a task ─▶ [PassService.SolvePass] ─▶ a pass ─▶ buy
//
// [Passes] signs and verifies passes. The Lua step accepts each pass once.
package admission
