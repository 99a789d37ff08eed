// Package admission gives out passes: a sale can require one for each buy, for nothing, for a proof of work or for a
// captcha. The promise: a pass is bound to user, sale and time, counts once, and costs the node no memory.
//
//	[PassDesk.AskPass] ─▶ too early or late: not_open, closed │ a pass │ a task ─▶ [PassDesk.SolvePass] ─▶ a pass ─▶ buy
//
// [Passes] signs and reads passes; the Lua step accepts each one once.
package admission
