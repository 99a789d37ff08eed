package shop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Code is an error code of the protocol. The list is a contract with all clients.
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
	Busy            Code = "busy" // after a buy: the outcome is unknown, repeat with the same key
	Paused          Code = "paused"
	PassRequired    Code = "pass_required"
	CaptchaRequired Code = "captcha_required"
	AddressRequired Code = "address_required"
	OrderExpired    Code = "order_expired"
	Internal        Code = "internal"
)

// Codes lists all codes.
var Codes = [...]Code{
	BadRequest, Unauthorized, Forbidden, NotFound, UnknownOp, NotOpen, Closed, SoldOut, LimitReached, DuplicateKey,
	WrongState, Conflict, RateLimited, Busy, Paused, PassRequired, CaptchaRequired, AddressRequired, OrderExpired,
	Internal,
}

// Error is an error for clients: a code for programs, a sentence for people, and details. All other errors are wrapped
// with a verb phrase; AsError turns them into Internal for clients.
type Error struct {
	Code    Code       `json:"code"`
	Message string     `json:"message"`
	RetryMS int64      `json:"retry_ms"`          // pause before a retry; 0: no pause
	Orders  []OrderRef `json:"orders,omitempty"`  // with limit_reached: orders that the buyer holds
	Current any        `json:"current,omitempty"` // with a conflict between operators: the current object
}

// OrderRef names an order and its present state.
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

// Fail returns an Error.
func Fail(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Failf returns an Error with a formatted message.
func Failf(code Code, format string, args ...any) *Error {
	return Fail(code, fmt.Sprintf(format, args...))
}

// FailBusy returns Busy for a transient fault: the outcome is unknown, retry after the pause.
func FailBusy(message string, retry time.Duration) *Error {
	return &Error{Code: Busy, Message: message, RetryMS: retry.Milliseconds()}
}

// Unavailable wraps the error of a failed read, or of a call that changed nothing. If a retry may succeed, clients
// receive Busy with a message that names the subject; otherwise Internal, and the log has the cause. An Error in err
// takes precedence. A nil err stays nil.
func Unavailable(subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case !MayRetry(err):
		return fmt.Errorf("use %s: %w", subject, err)
	}
	return fmt.Errorf("use %s: %w", subject, errors.Join(err, FailBusy(subject+" cannot be used right now", BusyRetry)))
}

// MayRetry reports whether the same call may succeed later without a change of the program, its data or its
// configuration.
func MayRetry(err error) bool {
	if errors.Is(err, ErrMisconfigured) || errors.Is(err, ErrPermanent) {
		return false
	}
	return slices.ContainsFunc([]error{
		ErrTransient, ErrStaleEpoch, ErrLost, ErrTooLate, context.Canceled, context.DeadlineExceeded,
	}, func(target error) bool { return errors.Is(err, target) })
}

// AsError returns the Error in err. Any other error becomes Internal without its text, so that no internal text leaks.
func AsError(err error) *Error {
	if e, direct := err.(*Error); direct { // the usual case: errors.As costs as much as all other work of a rejection
		return e
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Fail(Internal, "something failed on our side; please try again")
}

// Faults that packages report to the flows. Clients never receive them unchanged.
var (
	// ErrTransient is a transient fault (connection lost, deadlock, lock wait, read-only, loading). The outcome is
	// unknown, or nothing changed. The same call can be repeated safely.
	ErrTransient = errors.New("transient fault")
	// ErrMisconfigured is an ErrTransient that a retry does not resolve: a wrong password, a missing privilege, an
	// unknown command. At start the caller stops and reports it.
	ErrMisconfigured error = misconfigured{}
	// ErrStatement is an ErrMisconfigured: the server or its schema does not support the statement.
	ErrStatement error = misconfigured{statement: true}
	// ErrPermanent is a permanent fault: the same call fails again. One such call must not block others.
	ErrPermanent = errors.New("permanent fault")
	// ErrIDTaken means that the order ID belongs to an order of another buyer or sale. The reservation never gets a
	// row.
	ErrIDTaken = fmt.Errorf("%w: the order id belongs to another order", ErrPermanent)
	// ErrStaleEpoch means that the partition was recovered: the caller's Redis data belong to an older epoch.
	ErrStaleEpoch = errors.New("stale epoch")
	// ErrLost means that Redis lacks state that was loaded according to the database. The partition needs a recovery.
	ErrLost = errors.New("partition lost its state")
	// ErrTooLate means that the change timestamps of the rows are too old to publish: reconnecting nodes would miss
	// these changes.
	ErrTooLate = errors.New("touched too long ago")
	// ErrStockShort means that the database has fewer units of a sale than its orders need, or does not have the sale.
	ErrStockShort = errors.New("the database has fewer units than Redis has sold")
	// ErrNoRow means that the row does not exist or is not in the required state.
	ErrNoRow = errors.New("no such row")
)

// StuckSale is an ErrTransient of one sale: another transaction keeps its row locked, or the database has too few units
// (ErrStockShort). Work for other sales can continue.
type StuckSale struct {
	Sale ID
	Err  error // from the database
}

func (s *StuckSale) Error() string { return "sale " + s.Sale.String() + " is stuck: " + s.Err.Error() }

// Unwrap makes the error match ErrTransient.
func (s *StuckSale) Unwrap() []error { return []error{ErrTransient, s.Err} }

type misconfigured struct{ statement bool }

func (misconfigured) Error() string { return "fault that a retry does not resolve" }

// Is makes the error match ErrTransient, for callers that only decide whether to retry, and ErrMisconfigured.
func (misconfigured) Is(target error) bool {
	return target == ErrTransient || target == ErrMisconfigured
}

const (
	// BusyRetry is the pause requested from a buyer after an unknown outcome.
	BusyRetry = 500 * time.Millisecond
)

// Messages of Forbidden for blocked clients. The page and the console show their own texts for them.
const (
	AccountBlocked = "this account is blocked"
	AddressBlocked = "this address is blocked by the shop"
)

// OpensIn returns NotOpen with the time until the sale opens.
func OpensIn(wait time.Duration) error {
	e := Fail(NotOpen, "the sale has not opened yet")
	e.RetryMS = max(0, wait.Milliseconds())
	return e
}

// UnknownOutcome wraps the error of a call that may have written something. If a retry may succeed, clients receive
// Busy: the outcome is unknown (I6). Otherwise the store has rejected the call and rejects its repeat: clients receive
// Internal. An err that contains an Error is returned unchanged, a nil err stays nil.
func UnknownOutcome(operation string, err error) error {
	var known *Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case !MayRetry(err):
		return fmt.Errorf("%s: %w", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, errors.Join(err, FailBusy("the outcome is unknown; try again", BusyRetry)))
}

// IgnoreNoRow returns nil for ErrNoRow and err otherwise.
func IgnoreNoRow(err error) error {
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	return err
}

// ErrNoSale is returned both for missing and for hidden sales, so that a caller cannot detect hidden sales.
var ErrNoSale = Fail(NotFound, "no such sale")

// ErrTaken means that an e-mail address or an ID belongs to another user.
var ErrTaken = errors.New("belongs to another user")
