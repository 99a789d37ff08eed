package api

import (
	"context"
	"net/url"
	"time"

	"stampede/app"
)

// Accounts is what the routes under /auth and /me ask for. Errors are as those of Shop.
type Accounts interface {
	Captcha(ctx context.Context, asker app.PictureAsker) (app.Picture, error)
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
	// ConfirmReceipt is the buyer's word that a shipped order has come.
	ConfirmReceipt(ctx context.Context, user, order app.ID) (app.OrderState, error)
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

	// SearchOrders pages through everybody's orders, newest first; text is a number, an id or an e-mail.
	SearchOrders(ctx context.Context, q app.OrderSearch, text string) ([]app.Order, bool, error)
	// SearchUsers pages through accounts; text is an id, a name, or the beginning of an e-mail.
	SearchUsers(ctx context.Context, q app.UserSearch, text string) ([]app.User, bool, error)
	// SearchPayments pages through payments, newest first; text is the number of a trade or of an order.
	SearchPayments(ctx context.Context, q app.PaymentSearch, text string) ([]app.Received, bool, error)
	// FindUser reads what is known of a user.
	FindUser(ctx context.Context, id app.ID) (app.UserFile, error)

	// SetRole, RevokeUser (logs out everywhere, returns the number of devices) and DeleteUser change an account.
	SetRole(ctx context.Context, actor app.Actor, user app.ID, role app.Role) (app.User, error)
	RevokeUser(ctx context.Context, actor app.Actor, user app.ID) (int, error)
	DeleteUser(ctx context.Context, actor app.Actor, user app.ID) error

	// ReconcileDay compares a part of a day's payments with the gateway: the orders behind the one given.
	ReconcileDay(ctx context.Context, day time.Time, after app.ID) (app.ReconciliationReport, error)
	// Repost sends to the back office once more what it received since the instant, and returns the number of entries.
	Repost(ctx context.Context, actor app.Actor, since app.Millis) (int64, error)

	// ArchiveState counts archived and due orders; DropArchive removes months before the one given.
	ArchiveState(ctx context.Context) (app.ArchiveState, error)
	DropArchive(ctx context.Context, actor app.Actor, before app.Month, dryRun bool) (app.ArchiveDrop, error)

	// SaleReport says what became of a sale.
	SaleReport(ctx context.Context, sale app.ID) (app.SaleReport, error)

	// What could not be done lists at most so many, oldest first; entries have names.
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

	// AnyOrder reads an order, whosever it is, with its refund, if it has one.
	AnyOrder(ctx context.Context, order app.ID) (app.Order, *app.Refund, error)
	// ListRefunds pages through refunds, newest orders first.
	ListRefunds(ctx context.Context, q app.RefundsQuery) ([]app.Refund, bool, error)
	// DecideRefund is an operator's yes or no; a yes also refunds what nobody asked for.
	DecideRefund(ctx context.Context, actor app.Actor, order app.ID, yes bool, note string) (app.Order, error)
	// RetryRefund has the gateway asked again for a refund that is stuck.
	RetryRefund(ctx context.Context, actor app.Actor, order app.ID) error

	// PauseSale stops the buys of a sale, ResumeSale lets them in again, EndSale closes it now.
	PauseSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	ResumeSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	EndSale(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct) (app.OperatorSale, error)
	// AddStock puts further units on sale; WithdrawStock takes units out, at most what is free.
	AddStock(ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, units int64) (app.OperatorSale, error)
	WithdrawStock(
		ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, units int64,
	) (app.OperatorSale, app.StockAct, error)
	// AddGuests returns tokens of new guests that are bound to the sale.
	AddGuests(ctx context.Context, actor app.Actor, sale app.ID, n int) ([]string, error)
	// SetSaleChallenge says what a sale asks of its buyers.
	SetSaleChallenge(
		ctx context.Context, actor app.Actor, sale app.ID, a app.SaleAct, c app.Challenge,
	) (app.OperatorSale, error)

	// ListBlocks lists who is kept out now; AddBlock keeps somebody out for a time (0: until it is removed);
	// RemoveBlock lets somebody in again.
	ListBlocks(ctx context.Context) ([]app.Block, error)
	AddBlock(ctx context.Context, actor app.Actor, b app.Block, lasts time.Duration) (app.Block, error)
	RemoveBlock(ctx context.Context, actor app.Actor, id int64) error

	// Switches is how they stand; EditSwitches turns some.
	Switches(ctx context.Context) (app.Switches, error)
	EditSwitches(ctx context.Context, actor app.Actor, e app.SwitchesEdit) (app.Switches, error)
	// StandingNotice is what shoppers are told who come at the instant; nil: nothing.
	StandingNotice(ctx context.Context, now app.Millis) (*app.Notice, error)
	// TellAll tells all shoppers something; TakeBack ends that.
	TellAll(ctx context.Context, actor app.Actor, n app.NewNotice) (app.Notice, error)
	TakeBack(ctx context.Context, actor app.Actor) (app.Notice, error)

	// Ship makes a paid order shipped; replace: one that is shipped gets another parcel.
	Ship(ctx context.Context, actor app.Actor, p app.Parcel, replace bool) (app.Order, error)
	// ShipMany enters the parcels of a CSV file.
	ShipMany(ctx context.Context, actor app.Actor, file []byte, replace, dryRun bool) (app.ShipReport, error)
	// ShipmentOf reads the parcel of an order; nil: none was sent.
	ShipmentOf(ctx context.Context, order app.ID) (*app.Shipment, error)

	// ListJournal pages through what operators have done, the newest first.
	ListJournal(ctx context.Context, q app.JournalQuery) ([]app.JournalEntry, bool, error)
	// VerifyJournal walks along the journal; head, if there is one, must be in it.
	VerifyJournal(ctx context.Context, head string) (app.JournalReport, error)
}
