package api

import (
	"context"
	"net/url"
	"time"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// Accounts is for the routes under /auth and /me. Errors are as those of Shop.
type Accounts interface {
	Captcha(ctx context.Context, asker admission.PictureAsker) (account.Picture, error)
	Register(ctx context.Context, r account.Registration) error
	// Activate returns the e-mail that is proven now.
	Activate(ctx context.Context, n account.Activation) (email string, err error)
	Unregister(ctx context.Context, token string) error
	LogIn(ctx context.Context, l account.LogIn) (account.Session, error)
	// Refresh gets the kind of the client as well.
	Refresh(ctx context.Context, token, client string) (account.Session, error)
	LogOut(ctx context.Context, o account.LogOut) error
	Forgot(ctx context.Context, f account.Forgotten) error
	Reset(ctx context.Context, n account.NewPassword) error

	Me(ctx context.Context, who shop.Identity) (account.Me, error)
	EditMe(ctx context.Context, who shop.Identity, e account.MeEdit) (account.Me, error)
	ChangePassword(ctx context.Context, who shop.Identity, c account.PasswordChange) error
	MyDevices(ctx context.Context, who shop.Identity) ([]account.MyDevice, error)
	RemoveDevice(ctx context.Context, who shop.Identity, device shop.ID) error
}

// Shop is what the routes need of the flows. An *shop.Error is for people; any other error is logged and answered as
// internal.
type Shop interface {
	// Verify checks a token: Unauthorized if it is not valid (any more).
	Verify(token string) (shop.Identity, error)

	Now() shop.Millis
	// Slots lists the slots to show now, or those of a day in the shop's zone.
	Slots(ctx context.Context, day *time.Time) ([]shop.Slot, error)
	SalesOfSlot(ctx context.Context, slot shop.ID) ([]shop.SaleView, error)
	SalesByPhase(ctx context.Context, phase shop.Phase, page, size int) ([]shop.SaleView, bool, error)
	Sale(ctx context.Context, id shop.ID) (shop.SaleView, error)
	Products(ctx context.Context, category shop.ID, page, size int) ([]shop.Product, bool, error)
	Product(ctx context.Context, id shop.ID) (shop.Product, error)
	Categories(ctx context.Context) ([]shop.Category, error)

	Buy(ctx context.Context, user shop.ID, req order.BuyRequest) (order.Receipt, error)
	// AskPass returns a pass for a sale or the task before it; SolvePass the pass for a solved task.
	AskPass(ctx context.Context, q admission.PassQuestion) (admission.PassAnswer, error)
	SolvePass(ctx context.Context, q admission.PassQuestion) (admission.PassAnswer, error)
	Cancel(ctx context.Context, user, order shop.ID) (shop.OrderState, error)
	// TakesPayments reports whether orders can be paid here.
	TakesPayments() bool
	// Notified takes a payment notification of the gateway; payment.ErrForged: it is not authentic.
	Notified(ctx context.Context, form url.Values) error
	// Pay returns where and until when a pending order is paid.
	Pay(ctx context.Context, user, order shop.ID, via payment.PayVia) (payment.Payable, error)
	// AskRefund requests a refund of a paid order and returns its state.
	AskRefund(ctx context.Context, user, order shop.ID, reason string) (shop.OrderState, error)
	// ConfirmReceipt is the buyer's confirmation that a shipped order arrived.
	ConfirmReceipt(ctx context.Context, user, order shop.ID) (shop.OrderState, error)
	Order(ctx context.Context, user, order shop.ID) (shop.Order, error)
	OrdersOf(ctx context.Context, q shop.OrdersQuery) ([]shop.Order, bool, error)

	// Addresses lists a user's address book, the default first.
	Addresses(ctx context.Context, user shop.ID) ([]shop.SavedAddress, error)
	// AddAddress enters an address, or returns the entry that has the same one. ChangeAddress replaces the entry a.ID.
	AddAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error)
	ChangeAddress(ctx context.Context, user shop.ID, a shop.SavedAddress) (shop.SavedAddress, error)
	RemoveAddress(ctx context.Context, user, id shop.ID) error

	// SearchOrders pages through all orders, newest first; text is a number, an id or an e-mail.
	SearchOrders(ctx context.Context, q store.OrderSearch, text string) ([]shop.Order, bool, error)
	// SearchUsers pages through accounts; text is an id, a name, or the beginning of an e-mail.
	SearchUsers(ctx context.Context, q store.UserSearch, text string) ([]shop.User, bool, error)
	// SearchPayments pages through payments, newest first; text is the number of a trade or of an order.
	SearchPayments(ctx context.Context, q store.PaymentSearch, text string) ([]payment.Received, bool, error)
	FindUser(ctx context.Context, id shop.ID) (backoffice.UserFile, error)

	// SetRole, RevokeUser (logs out everywhere, returns the number of devices) and DeleteUser change an account.
	SetRole(ctx context.Context, actor journal.Actor, user shop.ID, role shop.Role) (shop.User, error)
	RevokeUser(ctx context.Context, actor journal.Actor, user shop.ID) (int, error)
	DeleteUser(ctx context.Context, actor journal.Actor, user shop.ID) error

	// ReconcileDay compares a part of a day's payments, after the order given, with the gateway.
	ReconcileDay(ctx context.Context, day time.Time, after shop.ID) (payment.ReconciliationReport, error)
	// Repost sends to the back office once more what it received since the instant, and returns the number of entries.
	Repost(ctx context.Context, actor journal.Actor, since shop.Millis) (int64, error)

	// ArchiveState counts archived and due orders; DropArchive removes months before the one given.
	ArchiveState(ctx context.Context) (store.ArchiveState, error)
	DropArchive(ctx context.Context, actor journal.Actor, before shop.Month, dryRun bool) (archive.ArchiveDrop, error)

	SaleReport(ctx context.Context, sale shop.ID) (backoffice.SaleReport, error)

	// Failed jobs: lists of at most so many, oldest first; entries have names.
	ListDead(ctx context.Context, most int) ([]shop.DeadLetter, bool, error)
	DeadLetter(ctx context.Context, id string) (shop.DeadLetter, error)
	ReplayDead(ctx context.Context, actor journal.Actor, id string) (shop.Order, error)
	DropDead(ctx context.Context, actor journal.Actor, id string) error
	ListMessages(ctx context.Context, most int) ([]outbox.QuarantinedMessage, bool, error)
	ReplayMessage(ctx context.Context, actor journal.Actor, id string) error
	DropMessage(ctx context.Context, actor journal.Actor, id string) error
	ListEmails(ctx context.Context, most int) ([]outbox.QuarantinedEmail, bool, error)
	ReplayEmail(ctx context.Context, actor journal.Actor, id string) error
	DropEmail(ctx context.Context, actor journal.Actor, id string) error

	// AnyOrder reads an order of any user, with its refund, if any.
	AnyOrder(ctx context.Context, order shop.ID) (shop.Order, *payment.Refund, error)
	// ListRefunds pages through refunds, newest orders first.
	ListRefunds(ctx context.Context, q payment.RefundsQuery) ([]payment.Refund, bool, error)
	// DecideRefund approves or declines a refund; an approval needs no request.
	DecideRefund(ctx context.Context, actor journal.Actor, order shop.ID, yes bool, note string) (shop.Order, error)
	// RetryRefund sends a stuck refund to the gateway again.
	RetryRefund(ctx context.Context, actor journal.Actor, order shop.ID) error

	// PauseSale stops the buys of a sale, ResumeSale admits them again, EndSale closes it now.
	PauseSale(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
	) (backoffice.OperatorSale, error)
	ResumeSale(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
	) (backoffice.OperatorSale, error)
	EndSale(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct,
	) (backoffice.OperatorSale, error)
	// AddStock adds units; WithdrawStock removes units, at most the free ones.
	AddStock(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, units int64,
	) (backoffice.OperatorSale, error)
	WithdrawStock(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, units int64,
	) (backoffice.OperatorSale, shop.StockAct, error)
	// AddGuests returns tokens of new guests that are bound to the sale.
	AddGuests(ctx context.Context, actor journal.Actor, sale shop.ID, n int) ([]string, error)
	// SetSaleChallenge sets what a sale requires of its buyers.
	SetSaleChallenge(
		ctx context.Context, actor journal.Actor, sale shop.ID, a backoffice.SaleAct, c shop.Challenge,
	) (backoffice.OperatorSale, error)

	// AddBlock blocks for a time; 0: until RemoveBlock.
	ListBlocks(ctx context.Context) ([]store.Block, error)
	AddBlock(
		ctx context.Context, actor journal.Actor, b store.Block, lasts time.Duration,
	) (store.Block, error)
	RemoveBlock(ctx context.Context, actor journal.Actor, id int64) error

	Switches(ctx context.Context) (backoffice.Switches, error)
	EditSwitches(ctx context.Context, actor journal.Actor, e backoffice.SwitchesEdit) (backoffice.Switches, error)
	// StandingNotice returns the notice for shoppers at the instant, or nil.
	StandingNotice(ctx context.Context, now shop.Millis) (*shop.Notice, error)
	// TellAll sends a notice to all shoppers; TakeBack ends it.
	TellAll(ctx context.Context, actor journal.Actor, n backoffice.NewNotice) (shop.Notice, error)
	TakeBack(ctx context.Context, actor journal.Actor) (shop.Notice, error)

	// Ship marks a paid order as shipped; replace: a shipped one gets another parcel.
	Ship(ctx context.Context, actor journal.Actor, p store.Parcel, replace bool) (shop.Order, error)
	// ShipMany enters the parcels of a CSV file.
	ShipMany(ctx context.Context, actor journal.Actor, file []byte, replace, dryRun bool) (backoffice.ShipReport, error)
	// ShipmentOf reads the parcel of an order, or nil.
	ShipmentOf(ctx context.Context, order shop.ID) (*store.Shipment, error)

	// ListJournal pages through the acts of operators, newest first.
	ListJournal(ctx context.Context, q journal.JournalQuery) ([]journal.JournalEntry, bool, error)
	// VerifyJournal checks the whole journal; a given head must be in it.
	VerifyJournal(ctx context.Context, head string) (journal.JournalReport, error)
}
