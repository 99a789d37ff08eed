package api

import (
	"context"
	"net/url"
	"time"

	"stampede/app"
)

// Accounts is for the routes under /auth and /me. Errors are as those of Shop.
type Accounts interface {
	Captcha(ctx context.Context, asker app.PictureAsker) (app.Picture, error)
	Register(ctx context.Context, r app.Registration) error
	// Activate returns the e-mail that is proven now.
	Activate(ctx context.Context, n app.Activation) (email string, err error)
	Unregister(ctx context.Context, token string) error
	LogIn(ctx context.Context, l app.LogIn) (app.Session, error)
	// Refresh gets the kind of the client as well.
	Refresh(ctx context.Context, token, client string) (app.Session, error)
	LogOut(ctx context.Context, o app.LogOut) error
	Forgot(ctx context.Context, f app.Forgotten) error
	Reset(ctx context.Context, n app.NewPassword) error

	Me(ctx context.Context, who app.Identity) (app.Me, error)
	EditMe(ctx context.Context, who app.Identity, e app.MeEdit) (app.Me, error)
	ChangePassword(ctx context.Context, who app.Identity, c app.PasswordChange) error
	MyDevices(ctx context.Context, who app.Identity) ([]app.MyDevice, error)
	RemoveDevice(ctx context.Context, who app.Identity, device app.ID) error
}

// Shop is what the routes need of the flows. An *app.Error is for people; any other error is logged and answered as
// internal.
type Shop interface {
	// Verify checks a token: Unauthorized if it is not valid (any more).
	Verify(token string) (app.Identity, error)

	Now() app.Millis
	// Slots lists the slots to show now, or those of a day in the shop's zone.
	Slots(ctx context.Context, day *time.Time) ([]app.Slot, error)
	SalesOfSlot(ctx context.Context, slot app.ID) ([]app.SaleView, error)
	SalesByPhase(ctx context.Context, phase app.Phase, page, size int) ([]app.SaleView, bool, error)
	Sale(ctx context.Context, id app.ID) (app.SaleView, error)
	Products(ctx context.Context, category app.ID, page, size int) ([]app.Product, bool, error)
	Product(ctx context.Context, id app.ID) (app.Product, error)
	Categories(ctx context.Context) ([]app.Category, error)

	Buy(ctx context.Context, user app.ID, req app.BuyRequest) (app.Receipt, error)
	// AskPass returns a pass for a sale or the task before it; SolvePass the pass for a solved task.
	AskPass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	SolvePass(ctx context.Context, q app.PassQuestion) (app.PassAnswer, error)
	Cancel(ctx context.Context, user, order app.ID) (app.OrderState, error)
	// TakesPayments reports whether orders can be paid here.
	TakesPayments() bool
	// Notified takes a payment notification of the gateway; app.ErrForged: it is not authentic.
	Notified(ctx context.Context, form url.Values) error
	// Pay returns where and until when a pending order is paid.
	Pay(ctx context.Context, user, order app.ID, via app.PayVia) (app.Payable, error)
	// AskRefund requests a refund of a paid order and returns its state.
	AskRefund(ctx context.Context, user, order app.ID, reason string) (app.OrderState, error)
	// ConfirmReceipt is the buyer's confirmation that a shipped order arrived.
	ConfirmReceipt(ctx context.Context, user, order app.ID) (app.OrderState, error)
	Order(ctx context.Context, user, order app.ID) (app.Order, error)
	OrdersOf(ctx context.Context, q app.OrdersQuery) ([]app.Order, bool, error)

	// Addresses lists a user's address book, the default first.
	Addresses(ctx context.Context, user app.ID) ([]app.SavedAddress, error)
	// AddAddress enters an address, or returns the entry that has the same one. ChangeAddress replaces the entry a.ID.
	AddAddress(ctx context.Context, user app.ID, a app.SavedAddress) (app.SavedAddress, error)
	ChangeAddress(ctx context.Context, user app.ID, a app.SavedAddress) (app.SavedAddress, error)
	RemoveAddress(ctx context.Context, user, id app.ID) error

	// SearchOrders pages through all orders, newest first; text is a number, an id or an e-mail.
	SearchOrders(ctx context.Context, q app.OrderSearch, text string) ([]app.Order, bool, error)
	// SearchUsers pages through accounts; text is an id, a name, or the beginning of an e-mail.
	SearchUsers(ctx context.Context, q app.UserSearch, text string) ([]app.User, bool, error)
	// SearchPayments pages through payments, newest first; text is the number of a trade or of an order.
	SearchPayments(ctx context.Context, q app.PaymentSearch, text string) ([]app.Received, bool, error)
	FindUser(ctx context.Context, id app.ID) (app.UserFile, error)

	// SetRole, RevokeUser (logs out everywhere, returns the number of devices) and DeleteUser change an account.
	SetRole(ctx context.Context, actor app.Actor, user app.ID, role app.Role) (app.User, error)
	RevokeUser(ctx context.Context, actor app.Actor, user app.ID) (int, error)
	DeleteUser(ctx context.Context, actor app.Actor, user app.ID) error

	// ReconcileDay compares a part of a day's payments, after the order given, with the gateway.
	ReconcileDay(ctx context.Context, day time.Time, after app.ID) (app.ReconciliationReport, error)
	// Repost sends to the back office once more what it received since the instant, and returns the number of entries.
	Repost(ctx context.Context, actor app.Actor, since app.Millis) (int64, error)

	// ArchiveState counts archived and due orders; DropArchive removes months before the one given.
	ArchiveState(ctx context.Context) (app.ArchiveState, error)
	DropArchive(ctx context.Context, actor app.Actor, before app.Month, dryRun bool) (app.ArchiveDrop, error)

	SaleReport(ctx context.Context, sale app.ID) (app.SaleReport, error)

	// Failed jobs: lists of at most so many, oldest first; entries have names.
	ListDead(ctx context.Context, most int) ([]app.DeadLetter, bool, error)
	DeadLetter(ctx context.Context, id string) (app.DeadLetter, error)
	ReplayDead(ctx context.Context, actor app.Actor, id string) (app.Order, error)
	DropDead(ctx context.Context, actor app.Actor, id string) error
	ListMessages(ctx context.Context, most int) ([]app.QuarantinedMessage, bool, error)
	ReplayMessage(ctx context.Context, actor app.Actor, id string) error
	DropMessage(ctx context.Context, actor app.Actor, id string) error
	ListEmails(ctx context.Context, most int) ([]app.QuarantinedEmail, bool, error)
	ReplayEmail(ctx context.Context, actor app.Actor, id string) error
	DropEmail(ctx context.Context, actor app.Actor, id string) error

	// AnyOrder reads an order of any user, with its refund, if any.
	AnyOrder(ctx context.Context, order app.ID) (app.Order, *app.Refund, error)
	// ListRefunds pages through refunds, newest orders first.
	ListRefunds(ctx context.Context, q app.RefundsQuery) ([]app.Refund, bool, error)
	// DecideRefund approves or declines a refund; an approval needs no request.
	DecideRefund(ctx context.Context, actor app.Actor, order app.ID, yes bool, note string) (app.Order, error)
	// RetryRefund sends a stuck refund to the gateway again.
	RetryRefund(ctx context.Context, actor app.Actor, order app.ID) error

	// PauseSale stops the buys of a sale, ResumeSale admits them again, EndSale closes it now.
	PauseSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	ResumeSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	EndSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	// AddStock adds units; WithdrawStock removes units, at most the free ones.
	AddStock(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, units int64) (app.OperatorSale, error)
	WithdrawStock(
		ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, units int64,
	) (app.OperatorSale, app.StockAct, error)
	// AddGuests returns tokens of new guests that are bound to the sale.
	AddGuests(ctx context.Context, actor app.Actor, sale app.ID, n int) ([]string, error)
	// SetSaleChallenge sets what a sale requires of its buyers.
	SetSaleChallenge(
		ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, c app.Challenge,
	) (app.OperatorSale, error)

	// AddBlock blocks for a time; 0: until RemoveBlock.
	ListBlocks(ctx context.Context) ([]app.Block, error)
	AddBlock(ctx context.Context, actor app.Actor, b app.Block, lasts time.Duration) (app.Block, error)
	RemoveBlock(ctx context.Context, actor app.Actor, id int64) error

	Switches(ctx context.Context) (app.Switches, error)
	EditSwitches(ctx context.Context, actor app.Actor, e app.SwitchesEdit) (app.Switches, error)
	// StandingNotice returns the notice for shoppers at the instant, or nil.
	StandingNotice(ctx context.Context, now app.Millis) (*app.Notice, error)
	// TellAll sends a notice to all shoppers; TakeBack ends it.
	TellAll(ctx context.Context, actor app.Actor, n app.NewNotice) (app.Notice, error)
	TakeBack(ctx context.Context, actor app.Actor) (app.Notice, error)

	// Ship marks a paid order as shipped; replace: a shipped one gets another parcel.
	Ship(ctx context.Context, actor app.Actor, p app.Parcel, replace bool) (app.Order, error)
	// ShipMany enters the parcels of a CSV file.
	ShipMany(ctx context.Context, actor app.Actor, file []byte, replace, dryRun bool) (app.ShipReport, error)
	// ShipmentOf reads the parcel of an order, or nil.
	ShipmentOf(ctx context.Context, order app.ID) (*app.Shipment, error)

	// ListJournal pages through the acts of operators, newest first.
	ListJournal(ctx context.Context, q app.JournalQuery) ([]app.JournalEntry, bool, error)
	// VerifyJournal checks the whole journal; a given head must be in it.
	VerifyJournal(ctx context.Context, head string) (app.JournalReport, error)
}
