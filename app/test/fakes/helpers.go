package fakes

import "testing"

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ErrOf[T any](_ T, err error) error { return err }
