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

// CatalogueDesk is where operators say what is offered: products with their pictures, categories, slots and sales. Each
// change is an act, compares the version that the operator has seen, and can be a dry run.
type CatalogueDesk struct {
	Store *store.Store
	// MakeImage makes what can be shown of an uploaded file. BadRequest: the file is no usable picture.
	MakeImage func(ctx context.Context, file []byte) (store.StoredImage, error)
	Clean     func(html string) string // leaves of a description what may be shown
	Mint      func() (shop.ID, error)
	Now       func() shop.Millis
	Zone      *time.Location // of the shop's day
	// OnSale hears of sales that were made or edited, once that is committed; nil: nobody needs to. A duty does the
	// same for whom a crash has kept from hearing.
	OnSale func(ctx context.Context, sales []shop.ID)
}

const (
	longestName        = 200    // of a product, in characters
	longestCategory    = 100    // likewise
	longestRules       = 10_000 // likewise
	longestDescription = 50_000 // bytes of HTML
	longestAlt         = 200    // characters
	mostImages         = 12     // of a product
	dearestFen         = 10_000_000_000
)

// object names a thing for the journal.
func object(kind string, id shop.ID) string { return kind + ":" + id.String() }

// published reports that sales were made or edited.
func (d *CatalogueDesk) published(ctx context.Context, actor *journal.Actor, sales ...shop.ID) {
	if !actor.Dry && d.OnSale != nil {
		d.OnSale(context.WithoutCancel(ctx), sales)
	}
}

// missing words a thing that is not there.
func missing(what string, id shop.ID, err error) error {
	if errors.Is(err, shop.ErrNoRow) {
		return shop.Fail(shop.NotFound, "there is no "+what+" "+id.String())
	}
	return err
}

// checkText rejects a text with invalid characters or longer than longest, and, if required, an empty one. lines allows
// line breaks.
func checkText(name, text string, longest int, required, lines bool) error {
	bare := text
	if lines {
		bare = strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(text)
	}
	switch {
	case required && strings.TrimSpace(text) == "":
		return shop.Fail(shop.BadRequest, name+" is missing")
	case !utf8.ValidString(text) || !shop.Printable(bare):
		return shop.Fail(shop.BadRequest, name+" must be text")
	case utf8.RuneCountInString(text) > longest:
		return shop.Failf(shop.BadRequest, "%s has %d characters: at most %d are taken", name, utf8.RuneCountInString(text), longest)
	}
	return nil
}

func checkFen(name string, fen, least int64) error {
	if fen < least || fen > dearestFen {
		return shop.Failf(shop.BadRequest, "%s must be from %s to %s yuan", name, shop.FormatFen(least), shop.FormatFen(dearestFen))
	}
	return nil
}

// checkVersion rejects an edit of a record that does not exist, or that the operator has seen in another version. err
// is that of the read.
func checkVersion[T versioned](what string, id shop.ID, current T, seen int64, err error) error {
	if err == nil && versionOf(current) != seen {
		return journal.Changed("the "+what, current)
	}
	return missing(what, id, err)
}

// set changes a field that an edit names.
func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}
