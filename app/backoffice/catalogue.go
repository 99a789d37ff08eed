package backoffice

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// CatalogueService manages the catalogue for operators: products with their pictures, categories, slots and sales. Each
// change is one operation with an audit log entry. It requires the version that the operator has seen, and can be a dry
// run.
type CatalogueService struct {
	Store *store.Store
	// MakeImage converts an uploaded file to a picture that can be shown. BadRequest: the file is not a usable picture.
	MakeImage func(ctx context.Context, file []byte) (store.StoredImage, error)
	// Clean removes unsafe HTML from a description, and names the removed markup.
	Clean func(html string) (clean string, removed []string)
	Mint  func() (shop.ID, error)
	Now   func() shop.Millis
	Zone  *time.Location // of the shop
	// OnSale is called with new and edited sales after the COMMIT; it may be nil. A background job repeats the call
	// that a crash prevented.
	OnSale func(ctx context.Context, sales []shop.ID)
}

// Products returns the operations on products, their pictures and their categories.
func (c *CatalogueService) Products() Products { return Products{c} }

// Schedule returns the operations on slots and planned sales.
func (c *CatalogueService) Schedule() Schedule { return Schedule{c} }

// Products edits products, their pictures and their categories.
type Products struct{ *CatalogueService }

// Schedule edits slots and planned sales. SaleService changes running sales.
type Schedule struct{ *CatalogueService }

const (
	maxName        = 200    // of a product, in characters
	maxCategory    = 100    // of a category, in characters
	maxRules       = 10_000 // in characters
	maxDescription = 50_000 // bytes of HTML
	maxAlt         = 200    // in characters
	maxImages      = 12     // per product
	maxFen         = 10_000_000_000
)

// object returns the journal's name of a record.
func object(kind string, id shop.ID) string { return kind + ":" + id.String() }

// callOnSale calls OnSale, except after a dry run.
func (c *CatalogueService) callOnSale(ctx context.Context, actor *journal.Actor, sales ...shop.ID) {
	if !actor.DryRun && c.OnSale != nil {
		c.OnSale(context.WithoutCancel(ctx), sales)
	}
}

// notFound turns ErrNoRow into NotFound.
func notFound(record string, id shop.ID, err error) error {
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.NotFound, "there is no "+record+" "+id.String())
	}
	return err
}

// checkText rejects text that has invalid characters, is longer than limit, or is empty although required. The
// parameter lines allows line breaks.
func checkText(name, text string, limit int, required, lines bool) error {
	bare := text
	if lines {
		bare = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(text)
	}
	switch {
	case required && strings.TrimSpace(text) == "":
		return shop.Fail(shop.BadRequest, name+" is missing")
	case !utf8.ValidString(text) || !shop.Printable(bare):
		return shop.Fail(shop.BadRequest, name+" must be printable text")
	case utf8.RuneCountInString(text) > limit:
		return shop.Failf(shop.BadRequest, "%s has %d characters: the limit is %d", name, utf8.RuneCountInString(text), limit)
	}
	return nil
}

func checkFen(name string, fen, minFen int64) error {
	if fen < minFen || fen > maxFen {
		return shop.Failf(shop.BadRequest, "%s must be from %s to %s yuan", name, shop.FormatFen(minFen), shop.FormatFen(maxFen))
	}
	return nil
}

// checkVersion rejects an edit of a record that does not exist or has another version. err is the error of the read.
func checkVersion[T any](record string, id shop.ID, current T, version, seen int64, err error) error {
	if err == nil && version != seen {
		return journal.Changed("the "+record, current)
	}
	return notFound(record, id, err)
}

// set assigns a field if the edit contains it.
func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}
