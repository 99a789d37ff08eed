package kit

import (
	"context"
	"strings"
	"testing"
	"time"
)

// testDeadline is far above the time that a test needs on a busy machine.
const testDeadline = 10 * time.Minute

// Context returns a context that ends with the test, and after testDeadline at the latest. A wait for a condition that
// never holds then fails its own test, before the time limit of the whole package expires.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
	t.Cleanup(cancel)
	return ctx
}

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError checks that the text of err contains words, or that err is nil if words is "".
func WantError(t testing.TB, label string, err error, words string) {
	t.Helper()
	if words == "" && err != nil {
		t.Errorf("%s: %v", label, err)
	}
	if words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
		t.Errorf("%s: %v, want an error with %q", label, err, words)
	}
}

// Eventually checks the condition until it holds. The interval grows from 2 ms to 50 ms. After the timeout it fails the
// test with the last reason. The condition runs on the caller's goroutine at least once and may use t.
func Eventually(t testing.TB, timeout time.Duration, condition func() (ok bool, why string)) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	pause := 2 * time.Millisecond
	for {
		ok, why := condition()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("condition not met after %v: %s", timeout, why)
		}
		time.Sleep(pause)
		pause = min(pause*3/2, 50*time.Millisecond)
	}
}

// Await runs call and waits for its callback.
func Await[T any](call func(callback func(T, error))) (result T, err error) {
	done := make(chan struct{})
	call(func(a T, failed error) {
		result, err = a, failed
		close(done)
	})
	<-done
	return result, err
}
