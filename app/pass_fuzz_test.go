package app

import "testing"

// Whatever is shown as a pass or as the solution of a task, only what our key wrote counts, and a solution only when it
// is one.
func FuzzPass(f *testing.F) {
	const sale, user, now, until = ID(7), ID(42), Millis(1_000_000), Millis(1_120_000)
	pass, task := testPasses.issue(sale, user, now, until), testPasses.work(sale, user, now, LeastWorkBits)
	f.Add(pass, Solve(task.Text, task.Bits))
	f.Add(task.Text, Solve(task.Text, task.Bits))
	f.Add(task.Text, "01")
	f.Add(task.Text[:20], "-1")
	f.Add(otherPasses.issue(sale, user, now, until), "18446744073709551616")
	f.Fuzz(func(t *testing.T, text, nonce string) {
		if issued := testPasses.issued(text, sale, user, now+1); (issued != 0) != (text == pass) {
			t.Fatalf("%q is a pass of %d", text, issued)
		}
		given, _, ok := testPasses.done(text, nonce, sale, user, now+1)
		if ok != (text == task.Text && isNonce(nonce) && Solves(text, nonce, task.Bits)) || ok != (given != "") {
			t.Fatalf("%q solved by %q: %v, %q", text, nonce, ok, given)
		}
	})
}
