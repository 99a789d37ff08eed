package shop

import (
	"time"
)

// SaleTerms has the properties of a sale that operators decide.
type SaleTerms struct {
	ID        ID        `json:"id"`
	Version   int64     `json:"version"`
	Paused    bool      `json:"paused"`
	Challenge Challenge `json:"challenge"`
	PriceFen  int64     `json:"price_fen"`
	Limit     int       `json:"limit"`
	Cap       int       `json:"cap"`
	OpensAt   Millis    `json:"opens_at"`
	ClosesAt  Millis    `json:"closes_at"`
	Initial   int64     `json:"initial"`
	Added     int64     `json:"added"`
	Withdrawn int64     `json:"withdrawn"` // by operators; excludes refunds
}

// TermsOf returns the terms of a sale.
func TermsOf(s *Sale) SaleTerms {
	return SaleTerms{
		ID: s.ID, Version: s.Version, Paused: s.Paused, Challenge: s.Challenge, PriceFen: s.PriceFen, Limit: s.Limit,
		Cap: s.Cap, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
		Initial: s.Initial, Added: s.Added, Withdrawn: s.Withdrawn,
	}
}

// SaleRef names a sale and the partition in which its keys and its stream live.
type SaleRef struct {
	ID        ID
	Partition int
}

// Sale is one product offered in one slot. It has only operators' decisions, no numbers that change with each buy.
type Sale struct {
	ID        ID
	Slot      ID
	Partition int
	Product   Product
	ListTexts map[string]ProductText // Product.ListTexts, built once because each view has it
	PriceFen  int64
	Initial   int64 // units at the start of the sale
	Added     int64 // units added since then
	Withdrawn int64 // units withdrawn by an operator
	Limit     int   // maximum units that one buyer may hold
	Cap       int   // maximum reservations of one buyer over the whole sale (against hoarding)
	OpensAt   Millis
	ClosesAt  Millis
	Paused    bool
	Challenge Challenge
	Version   int64 // incremented by each edit
	Hidden    bool  // copied from the slot; see Catalogue.VisibleSale
	Epoch     int64 // epoch of the partition when the sale was loaded into Redis; 0: never loaded (I7)
}

// Ref returns the reference of the sale.
func (s *Sale) Ref() SaleRef { return SaleRef{ID: s.ID, Partition: s.Partition} }

// RefsOf returns the references of the sales, in their order.
func RefsOf(sales []*Sale) []SaleRef { return Mapped(sales, (*Sale).Ref) }

// Counters are the changing numbers of a sale, read from Redis atomically. Initial + Added = Stock + Held + Sold +
// Withdrawn, always (P1).
type Counters struct {
	Sale      ID
	Loaded    bool  // false: the sale is not in Redis and the numbers are zero
	Stock     int64 // free to reserve
	Held      int64 // reserved or unpaid
	Sold      int64 // paid, shipped, finished or refunding
	Withdrawn int64 // refunded and not returned to the stock, withdrawn by an operator, or burnt (I2)
	Initial   int64
	Added     int64
	Tickets   int64  // tickets issued
	Done      int64  // tickets settled
	Paused    bool   // by an operator, or because it is stuck
	Stuck     string // why an operator has to settle orders before the sale continues; "": not stuck
	Version   int64
	Epoch     int64   // of the sale's partition, read just before the numbers; 0 where no caller compares it
	Rate      float64 // orders settled per second, averaged over 5 s; filled in by the ticker
	Watching  int64   // viewers on all nodes; filled in by the ticker
}

// PlaceOf returns the number of unsettled reservations before the ticket; 0: the ticket is next.
func PlaceOf(ticket, done int64) int64 { return max(0, ticket-1-done) }

// SaleView is the sale that clients see: catalogue data and counters.
type SaleView struct {
	ID          ID        `json:"id"`
	Slot        ID        `json:"slot"`
	Product     Product   `json:"product"`
	PriceFen    int64     `json:"price_fen"`
	Initial     int64     `json:"initial"`
	Added       int64     `json:"added"`
	Stock       int64     `json:"stock"`
	Held        int64     `json:"held"`
	Sold        int64     `json:"sold"`
	Limit       int       `json:"limit"`
	Phase       Phase     `json:"phase"`
	Paused      bool      `json:"paused"`
	Challenge   Challenge `json:"challenge"`      // none, captcha or work
	Pass        bool      `json:"pass,omitempty"` // a buy requires a pass
	OpensAt     Millis    `json:"opens_at"`
	ClosesAt    Millis    `json:"closes_at"`
	Done        int64     `json:"done"`
	Rate        float64   `json:"rate"`
	Watching    int64     `json:"watching"`
	Description string    `json:"description,omitempty"` // detail only
	Rules       string    `json:"rules,omitempty"`       // detail only
}

// ViewOf joins catalogue data and counters. Before the sale is loaded, its whole stock is free.
func ViewOf(s *Sale, c Counters, now Millis) SaleView {
	v := SaleView{
		ID: s.ID, Slot: s.Slot, Product: s.Product, PriceFen: s.PriceFen, Initial: s.Initial, Added: s.Added,
		Stock: s.Initial + s.Added, Limit: s.Limit, Phase: PhaseAt(now, s.OpensAt, s.ClosesAt), Paused: s.Paused,
		Challenge: s.Challenge.task(), Pass: s.Challenge.NeedsPass(), OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
	}
	v.Product.CategoryID = 0 // a sale has the short form of its product
	v.Product.Description, v.Product.Rules, v.Product.Texts = "", "", s.ListTexts
	if c.Loaded {
		v.Initial, v.Added = c.Initial, c.Added
		v.Stock, v.Held, v.Sold = c.Stock, c.Held, c.Sold
		v.Done, v.Rate, v.Watching = c.Done, c.Rate, c.Watching
		v.Paused = c.Paused
	}
	return v
}

// RetireAfter is how long a sale keeps its keys in Redis after its end, so that late retries of a buy get their result.
const RetireAfter = 24 * time.Hour

// Layer is the layer that rejected a buy attempt.
type Layer string

// The layers, the outermost first.
const (
	LayerPace  Layer = "pace"  // rate limits: per user, per address, per shop
	LayerNode  Layer = "node"  // memory of a node: the window, sold-out flags, unreadable requests
	LayerRedis Layer = "redis" // the reservation script, or an unknown outcome
)

var Layers = [...]Layer{LayerPace, LayerNode, LayerRedis}
