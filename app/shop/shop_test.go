package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestIDsAreStringsInJSON(t *testing.T) {
	t.Parallel()
	const big = ID(9007199254740993) // 2^53 + 1: a JavaScript number would lose it
	text, err := json.Marshal(struct {
		ID ID `json:"id"`
	}{big})
	if err != nil || string(text) != `{"id":"9007199254740993"}` {
		t.Fatalf("got the JSON %s, %v; want the id as a string", text, err)
	}
	for _, invalid := range []string{
		"", "0", "-1", "+1", "1e3", "01", " 1", "99999999999999999999", "9223372036854775808", "1x",
	} {
		if id, err := ParseID(invalid); err == nil {
			t.Errorf("ParseID(%q) = %s, want an error", invalid, id)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("1")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err == nil && (id <= 0 || id.String() != s) {
			t.Fatalf("ParseID(%q) = %d, want an error or the same number", s, id)
		}
	})
}

func TestPlaceCountsEarlierReservations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ticket, done, want int64 }{{1, 0, 0}, {13, 0, 12}, {13, 12, 0}, {13, 40, 0}} {
		if got := PlaceOf(c.ticket, c.done); got != c.want {
			t.Errorf("PlaceOf(%d, %d) = %d, want %d", c.ticket, c.done, got, c.want)
		}
	}
}

func TestCurrentSlotIsOpenOrNextOrLast(t *testing.T) {
	t.Parallel()
	slots := []Slot{{ID: 1, OpensAt: 100, ClosesAt: 200}, {ID: 2, OpensAt: 300, ClosesAt: 400}}
	for now, want := range map[Millis]ID{50: 1, 150: 1, 200: 2, 250: 2, 399: 2, 400: 2, 900: 2} {
		if got := CurrentSlot(slots, now); got.ID != want {
			t.Errorf("at %d the current slot is %s, want %s", now, got.ID, want)
		}
	}
	if CurrentSlot(nil, 1) != nil {
		t.Error("without slots: got a current slot, want nil")
	}
}

func TestPhaseStartsAtOpeningAndEndsBeforeClosing(t *testing.T) {
	t.Parallel()
	for now, want := range map[Millis]Phase{99: Upcoming, 100: Open, 199: Open, 200: Ended} {
		if got := PhaseAt(now, 100, 200); got != want {
			t.Errorf("phase at %d: got %s, want %s", now, got, want)
		}
	}
}

func TestOnlyEndedOrdersHoldNoUnits(t *testing.T) {
	t.Parallel()
	for _, s := range []OrderState{Cancelled, Expired, Refused} {
		if o := (Order{State: s, CancelledAt: 5}); o.HoldsUnits() {
			t.Errorf("%s must not hold units", s)
		}
	}
	for _, s := range []OrderState{Reserved, Pending, Paid, Shipped, Finished, Refunding, Refunded} {
		if o := (Order{State: s}); !o.HoldsUnits() {
			t.Errorf("%s must hold its units", s)
		}
	}
	for _, s := range []OrderState{Refunding, Refunded} {
		if o := (Order{State: s, CancelledAt: 5}); o.HoldsUnits() {
			t.Errorf("%s must not hold units after a late payment", s)
		}
	}
}

func TestUnknownErrorsDoNotLeak(t *testing.T) {
	t.Parallel()
	e := AsError(errors.New("dial tcp 10.0.0.7:3306: password secret"))
	if e.Code != Internal || strings.Contains(e.Message, "secret") {
		t.Fatalf("got the error %v, want internal without the secret", e)
	}
	wrapped := AsError(errors.Join(ErrTransient, FailBusy("later", 250*time.Millisecond)))
	if wrapped.Code != Busy || wrapped.RetryMS != 250 {
		t.Fatalf("got the error %+v, want busy with a retry after 250 ms", wrapped)
	}
}

// Clients repeat a call after busy, so only a fault that a repeat can resolve is busy.
func TestOnlyFaultsThatARetryResolvesAreBusy(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]Code{
		ErrTransient: Busy, ErrStaleEpoch: Busy, ErrLost: Busy, ErrTooLate: Busy, context.DeadlineExceeded: Busy,
		ErrPermanent: Internal, ErrMisconfigured: Internal, ErrStatement: Internal, errors.New("a defect"): Internal,
		Fail(NotFound, "no such sale"): NotFound,
	} {
		read := AsError(Unavailable("the sale", fmt.Errorf("read: %w", err)))
		written := AsError(UnknownOutcome("write", fmt.Errorf("write: %w", err)))
		if read.Code != want || written.Code != want {
			t.Errorf("%v: got %s for a read and %s for a write, want %s", err, read.Code, written.Code, want)
		}
	}
}
