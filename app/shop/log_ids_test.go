package shop

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// The fields of a log line come from the error first, including wrapped and joined errors, and then from the context.
func TestLogIDsComeFromErrorThenContext(t *testing.T) {
	t.Parallel()
	inner := WithErrorIDs(errors.New("lost"), "entry", "1-0", "order", ID(7))
	err := fmt.Errorf("reserve: %w", errors.Join(errors.New("other"), WithErrorIDs(fmt.Errorf("and %w", inner), "order", ID(5))))
	ctx := WithLogIDs(context.Background(), "request", "abc", "order", ID(9))
	want := "[order=5 entry=1-0 request=abc]"
	if got := fmt.Sprint(LogIDs(ctx, err)); got != want {
		t.Errorf("got the fields %s, want %s", got, want)
	}
	if !errors.Is(err, inner) || err.Error() != "reserve: other\nand lost" {
		t.Errorf("WithErrorIDs changed the error to %v", err)
	}
	// An *Error and nil stay unchanged.
	if e := Fail(SoldOut, "sold out"); WithErrorIDs(e, "order", ID(7)) != error(e) || WithErrorIDs(nil, "order", ID(7)) != nil {
		t.Error("WithErrorIDs wrapped an Error or nil")
	}
}
