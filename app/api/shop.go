package api

import (
	"context"
	"net/url"
	"time"

	"stampede/app"
)

// Accounts is what the routes under /auth and /me ask for. Errors are as those of Shop.
type Accounts interface {
	Captcha(ctx context.Context) (app.Picture, error)
	Register(ctx context.Context, r app.Registration) error
	// Activate answers the e-mail that is proven now.
	Activate(ctx context.Context, token string) (email string, err error)
	LogIn(ctx context.Context, l app.LogIn) (app.Session, error)
	Refresh(ctx context.Context, token string) (app.Session, error)
	LogOut(ctx context.Context, o app.LogOut) error
	Forgot(ctx context.Context, f app.Forgotten) error
	Reset(ctx context.Context, n app.NewPassword) error

	Me(ctx context.Context, who app.Identity) (app.Me, error)
	EditMe(ctx context.Context, who app.Identity, e app.MeEdit) (app.Me, error)
	ChangePassword(ctx context.Context, who app.Identity, c app.PasswordChange) error
	MyDevices(ctx context.Context, who app.Identity) ([]app.MyDevice, error)
	RemoveDevice(ctx context.Context, who app.Identity, device app.ID) error
}

// Shop is what the routes ask of the flows. Errors are *app.Error for people, or anything else, which is
// then logged and answered as internal.
type Shop interface {
	// Verify says who a token belongs to: Unauthorized when it is not valid (any more).
	Verify(token string) (app.Identity, error)

	Now() app.Millis
	// Slots lists the slots to be shown now; with a day, those of that day in the shop's zone.
	Slots(ctx context.Context, day *time.Time) ([]app.Slot, error)
	SalesOfSlot(ctx context.Context, slot app.ID) ([]app.SaleView, error)
	SalesByPhase(ctx context.Context, phase app.Phase, page, size int) ([]app.SaleView, bool, error)
	Sale(ctx context.Context, id app.ID) (app.SaleView, error)
	Products(ctx context.Context, category app.ID, page, size int) ([]app.Product, bool, error)
	Product(ctx context.Context, id app.ID) (app.Product, error)
	Categories(ctx context.Context) ([]app.Category, error)

	Buy(ctx context.Context, user app.ID, req app.BuyRequest) (app.Receipt, error)
	// AskPass answers a pass for a sale, or the task that stands before it; SolvePass the pass for a solved task.
	AskPass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	SolvePass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	Cancel(ctx context.Context, user, order app.ID) (app.OrderState, error)
	// TakesPayments reports whether anything can be paid here.
	TakesPayments() bool
	// Notified takes a payment notification of the gateway; an error that wraps app.ErrForged says that it is none.
	Notified(ctx context.Context, form url.Values) error
	// Pay answers where the buyer pays a pending order, and until when.
	Pay(ctx context.Context, user, order app.ID, via app.PayVia) (app.Payable, error)
	// AskRefund asks for the money of a paid order back, and answers the state that the order has then.
	AskRefund(ctx context.Context, user, order app.ID, reason string) (app.OrderState, error)
	Order(ctx context.Context, user, order app.ID) (app.Order, error)
	OrdersOf(ctx context.Context, q app.OrdersQuery) ([]app.Order, bool, error)

	// Addresses lists a user's address book, the default first.
	Addresses(ctx context.Context, user app.ID) ([]app.SavedAddress, error)
	// AddAddress enters an address, or answers the entry that has the same one.
	AddAddress(ctx context.Context, user app.ID, a app.SavedAddress) (app.SavedAddress, error)
	// ChangeAddress replaces what the entry a.ID says.
	ChangeAddress(ctx context.Context, user app.ID, a app.SavedAddress) (app.SavedAddress, error)
	// RemoveAddress takes an entry out.
	RemoveAddress(ctx context.Context, user, id app.ID) error

	// OrdersInState pages through all orders of a state, newest first.
	OrdersInState(ctx context.Context, q app.StateQuery) ([]app.Order, bool, error)
	// AnyOrder reads an order, whosever it is, with its refund, if it has one.
	AnyOrder(ctx context.Context, order app.ID) (app.Order, *app.Refund, error)
	// ListRefunds pages through refunds, newest orders first.
	ListRefunds(ctx context.Context, q app.RefundsQuery) ([]app.Refund, bool, error)
	// DecideRefund is an operator's yes or no; a yes also refunds what nobody asked for.
	DecideRefund(ctx context.Context, operator, order app.ID, yes bool, note string) (app.Order, error)
	// RetryRefund has the gateway asked again for a refund that is stuck.
	RetryRefund(ctx context.Context, order app.ID) error
}
