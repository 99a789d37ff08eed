package kit

import (
	"context"
	"strings"
	"testing"
	"time"
)

// testDeadline is far above what a test needs on a busy machine.
const testDeadline = 10 * time.Minute

// Context ends with the test, and after testDeadline at the latest: a wait for a condition that never holds fails its
// own test, not by the time limit of the whole package.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testDeadline)
	t.Cleanup(cancel)
	return ctx
}

// Must ends the test if a step that it needs has failed.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError demands an error whose text contains some words, or none if there are no words.
func WantError(t testing.TB, what string, err error, words string) {
	t.Helper()
	if words == "" && err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
		t.Errorf("%s: %v, want an error with %q", what, err, words)
	}
}

// Eventually asks again and again, at first every 2 ms and then up to every 50 ms, until the condition
// holds. After the timeout the test ends with the last reason. The condition runs on the
// caller's goroutine, at least once, and may use t.
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
			t.Fatalf("not so after %v: %s", timeout, why)
		}
		time.Sleep(pause)
		pause = min(pause*3/2, 50*time.Millisecond)
	}
}

// Told asks, and waits until the answer is told.
func Told[T any](ask func(then func(T, error))) (answer T, err error) {
	told := make(chan struct{})
	ask(func(a T, failed error) {
		answer, err = a, failed
		close(told)
	})
	<-told
	return answer, err
}
