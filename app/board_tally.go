package app

import "sync/atomic"

// codes are all codes with which a buy may be refused, in the order in which they are counted.
var codes = [...]Code{
	BadRequest, Unauthorized, Forbidden, NotFound, UnknownOp, NotOpen, Closed, SoldOut, LimitReached, DuplicateKey,
	WrongState, Conflict, RateLimited, Busy, Paused, PassRequired, CaptchaRequired, OrderExpired, Internal,
}

var codeNumbers = func() map[Code]int {
	numbers := make(map[Code]int, len(codes))
	for i, code := range codes {
		numbers[code] = i
	}
	return numbers
}()

// soldOutNumber is that of what nearly everybody hears at a hot sale; it is not looked up.
var soldOutNumber = codeNumbers[SoldOut]

// Tally counts the results of all buys. Each count is an addition and allocates nothing. A nil Tally counts nothing.
type Tally struct {
	pressed  atomic.Int64
	reserved atomic.Int64
	refused  [len(codes)]atomic.Int64
}

func (t *Tally) press() {
	if t != nil {
		t.pressed.Add(1)
	}
}

func (t *Tally) reserve() {
	if t != nil {
		t.reserved.Add(1)
	}
}

func (t *Tally) refuse(err error) {
	if t == nil {
		return
	}
	code := AsError(err).Code
	if code == SoldOut {
		t.refused[soldOutNumber].Add(1)
		return
	}
	number, known := codeNumbers[code]
	if !known {
		number = codeNumbers[Internal]
	}
	t.refused[number].Add(1)
}

// TurnAway counts a press that was refused before it came to a checkout.
func (t *Tally) TurnAway(err error) {
	t.press()
	t.refuse(err)
}

// Tallies count the buys of all sales that are not hidden. A nil Tallies counts nothing.
type Tallies struct {
	All      Tally
	IsHidden func(sale ID) bool // nil: no sale is hidden
}

// Of returns the tally in which buys of the sale count; nil, which counts nothing, for a hidden sale.
func (t *Tallies) Of(sale ID) *Tally {
	if t == nil || t.IsHidden != nil && t.IsHidden(sale) {
		return nil
	}
	return &t.All
}

// Pressed is how many buys came.
func (t *Tally) Pressed() int64 { return t.pressed.Load() }

// Reserved is how many of them were accepted; a repeat of one is neither that nor refused.
func (t *Tally) Reserved() int64 { return t.reserved.Load() }

// Refused is how many were refused with each code that there is.
func (t *Tally) Refused() map[Code]int64 {
	refused := make(map[Code]int64, len(codes))
	for i, code := range codes {
		refused[code] = t.refused[i].Load()
	}
	return refused
}
