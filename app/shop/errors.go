package shop

import (
	"errors"
	"fmt"
	"time"
)

// Code is what went wrong in one of the protocol's words. The list is a contract with every client.
type Code string

// The error codes of protocol version 1.
const (
	BadRequest      Code = "bad_request"
	Unauthorized    Code = "unauthorized"
	Forbidden       Code = "forbidden"
	NotFound        Code = "not_found"
	UnknownOp       Code = "unknown_op"
	NotOpen         Code = "not_open"
	Closed          Code = "closed"
	SoldOut         Code = "sold_out"
	LimitReached    Code = "limit_reached"
	DuplicateKey    Code = "duplicate_key"
	WrongState      Code = "wrong_state"
	Conflict        Code = "conflict"
	RateLimited     Code = "rate_limited"
	Busy            Code = "busy" // after a buy: unknown, repeat with the same key
	Paused          Code = "paused"
	PassRequired    Code = "pass_required"
	CaptchaRequired Code = "captcha_required"
	OrderExpired    Code = "order_expired"
	Internal        Code = "internal"
)

// Error is what people hear: a code for programs, a sentence for people, and what the code carries.
// Everything else that fails is wrapped with a verb phrase and becomes Internal at the edge.
type Error struct {
	Code    Code       `json:"code"`
	Message string     `json:"message"`
	RetryMS int64      `json:"retry_ms"`          // when trying again makes sense, milliseconds; 0: it does not, or at once
	Orders  []OrderRef `json:"orders,omitempty"`  // with limit_reached: what the buyer already holds
	Current any        `json:"current,omitempty"` // with a conflict of operators: the object as it is now
}

// OrderRef names an order and its state by now.
type OrderRef struct {
	ID    ID         `json:"id"`
	State OrderState `json:"state"`
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// ErrorCode returns the code, for traces.
func (e *Error) ErrorCode() string { return string(e.Code) }

// Is lets errors.Is(err, &Error{Code: c}) match by code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Fail makes an Error.
func Fail(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Failf makes an Error with a formatted message.
func Failf(code Code, format string, args ...any) *Error {
	return Fail(code, fmt.Sprintf(format, args...))
}

// FailBusy is the answer to a transient fault: unknown outcome, try again after the pause.
func FailBusy(message string, retry time.Duration) *Error {
	return &Error{Code: Busy, Message: message, RetryMS: retry.Milliseconds()}
}

// Unreadable is the answer when a store does not tell what was asked: busy for people, who hear what cannot be read,
// and the cause for the log. What err already says to people comes first; nil stays nil.
func Unreadable(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", what, errors.Join(err, FailBusy(what+" cannot be read right now", BusyRetry)))
}

// AsError finds the Error in err; anything else becomes Internal without its text, so that nothing internal leaks.
func AsError(err error) *Error {
	if e, plain := err.(*Error); plain { // as nearly always: errors.As costs as much as the rest of a refusal
		return e
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Fail(Internal, "something failed on our side; please try again")
}

// Faults that packages report to the flows. They never reach a client as they are.
var (
	// ErrTransient is a transient fault (connection lost, deadlock, lock wait, read-only, loading):
	// the outcome is unknown or nothing happened; the same call is safe to repeat.
	ErrTransient = errors.New("transient fault")
	// ErrMisconfigured is an ErrTransient that no waiting mends: a wrong password, a missing privilege, an unknown
	// command. A caller at a start gives up and reports it.
	ErrMisconfigured error = misconfigured{}
	// ErrPermanent is a permanent fault: the same call will fail again, alone it must not block others.
	ErrPermanent = errors.New("permanent fault")
	// ErrIDTaken means that the order id belongs to an order of another buyer or sale: this one can never get a row.
	ErrIDTaken = fmt.Errorf("%w: the order id belongs to another order", ErrPermanent)
	// ErrStaleEpoch means the partition was recovered: what the caller knows of Redis is of an older epoch.
	ErrStaleEpoch = errors.New("stale epoch")
	// ErrLost means Redis no longer has what the database says was loaded: the partition needs a recovery.
	ErrLost = errors.New("partition lost its state")
	// ErrTooLate means that rows were stamped too long ago to be published: nodes that were away would not find them.
	ErrTooLate = errors.New("stamped too long ago")
	// ErrScarce means that the database has fewer units of a sale than its orders ask for, or not even the sale.
	ErrScarce = errors.New("the database has fewer units than Redis has sold")
	// ErrNoRow means that no such row exists, or not in the state that was asked for.
	ErrNoRow = errors.New("no such row")
)

// StuckSale is an ErrTransient of one sale: somebody keeps its row locked, or the database has too few units of it
// (ErrScarce). What concerns other sales can go on without it.
type StuckSale struct {
	Sale ID
	Err  error // the database's
}

func (s *StuckSale) Error() string { return "sale " + s.Sale.String() + " is stuck: " + s.Err.Error() }

// Unwrap makes it a transient fault.
func (s *StuckSale) Unwrap() []error { return []error{ErrTransient, s.Err} }

type misconfigured struct{}

func (misconfigured) Error() string { return "fault that waiting does not mend" }

// Is makes it a transient fault for those who only ask whether to try again.
func (misconfigured) Is(target error) bool { return target == ErrTransient }

const (
	// BusyRetry is the pause that a buyer with an unknown outcome is asked to keep.
	BusyRetry = 500 * time.Millisecond
)

// OpensIn returns NotOpen with the time until the opening.
func OpensIn(wait time.Duration) error {
	e := Fail(NotOpen, "the sale has not opened yet")
	e.RetryMS = max(0, wait.Milliseconds())
	return e
}

// Unsettled keeps errors for people and turns every other one into "busy": the outcome is unknown. nil stays nil.
func Unsettled(doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(err, FailBusy("the outcome is unknown; try again", BusyRetry)))
}

// UnlessNoRow is nil for what just does not exist.
func UnlessNoRow(err error) error {
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	return err
}

// ErrArchived means that the order is in the archive, where no order holds units again.
var ErrArchived = errors.New("the order is in the archive")

// ErrNoSale is the one error for sales that do not exist and for hidden ones, so that callers cannot tell them apart.
var ErrNoSale = Fail(NotFound, "no such sale")

// ErrTaken means that an e-mail or an id belongs to somebody else.
var ErrTaken = errors.New("belongs to somebody else")
