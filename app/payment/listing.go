package payment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"stampede/app/shop"
)

// Lister reads the gateway's own lists. A row is a hint, never a proof: another shop may use the same account, and
// absence from a list proves nothing. ErrNotPermitted: the account has no permission for the list.
type Lister interface {
	// SoldTrades returns a page, from 1, of the trades that were created in [from, to), at most 31 days; more: another
	// page follows. The gateway lists a trade some minutes after a change.
	SoldTrades(ctx context.Context, from, to shop.Millis, page int) (trades []ListedTrade, more bool, err error)
	// RefundLog is SoldTrades for the refunds that were booked in [from, to).
	RefundLog(ctx context.Context, from, to shop.Millis, page int) (refunds []ListedRefund, more bool, err error)
	// Bill reads the bill of a day of the gateway (2006-01-02): its trades and its refunds. ErrNoBill: it does not
	// exist yet. The bill of a day appears on the next morning.
	Bill(ctx context.Context, day string) ([]ListedTrade, []ListedRefund, error)
}

// Errors of a Lister.
var (
	ErrNotPermitted = errors.New("the account has no permission for this list of the gateway")
	ErrNoBill       = errors.New("the bill of the day does not exist yet")
)

// ListedTrade is a trade in a list of the gateway.
type ListedTrade struct {
	Order       shop.ID // 0: the number is not that of an order of this program
	No          string  // the gateway's number
	Mark        Mark    // zero: the trade has no mark of this program
	AmountFen   int64
	RefundedFen int64
	CreatedAt   shop.Millis
	PaidAt      shop.Millis // 0: not paid, or not reported
}

// ListedRefund is a refund in a list of the gateway.
type ListedRefund struct {
	Order     shop.ID // as in ListedTrade
	No        string  // the gateway's number of the trade
	Request   string  // number of the refund; made outside of this program: any text
	AmountFen int64
	At        shop.Millis
}

// Mark is the text in each trade from which its order can be written again, if all stores have lost it.
type Mark struct {
	Shop string // id of the shop
	Sale shop.ID
	User shop.ID
	Qty  int
}

const markPrefix = "stampede"

// String returns the text of the mark, at most 80 ASCII characters.
func (m Mark) String() string {
	return fmt.Sprintf("%s %s %s %s %d", markPrefix, m.Shop, m.Sale, m.User, m.Qty)
}

// ParseMark parses the text of a mark. It returns a zero Mark for any other text.
func ParseMark(text string) Mark {
	parts := strings.Fields(text)
	if len(parts) != 5 || parts[0] != markPrefix {
		return Mark{}
	}
	sale, saleErr := shop.ParseID(parts[2])
	user, userErr := shop.ParseID(parts[3])
	qty, qtyErr := strconv.Atoi(parts[4])
	if errors.Join(saleErr, userErr, qtyErr) != nil || qty < 1 {
		return Mark{}
	}
	return Mark{Shop: parts[1], Sale: sale, User: user, Qty: qty}
}
