package backoffice

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// CatalogueDesk is where operators say what is offered: products with their pictures, categories, slots and sales. Each
// change is an act (act.go), looks at the version that the operator has seen, and can be tried before it is made.
type CatalogueDesk struct {
	Acts  *journal.Journal
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

// act does something as an act and reads its answer. dry rolls it back once it is known to work, also its key, and
// returns what the answer would have been.
func act[T any](
	ctx context.Context, d *CatalogueDesk, actor journal.Actor, dry bool,
	do func(ctx context.Context) (journal.Act, T, error),
) (T, error) {
	var answer T
	stop := shop.Fail(shop.Conflict, "this was tried only")
	if dry {
		actor.Key = rand.Text()
	}
	done, err := d.Acts.Act(ctx, actor, func(ctx context.Context) (journal.Act, error) {
		what, tried, err := do(ctx)
		if err == nil && dry {
			answer, err = tried, stop
		}
		what.Answer = tried
		return what, err
	})
	var said *shop.Error
	switch {
	case dry && errors.As(err, &said) && said == stop:
		return answer, nil
	case err != nil:
		return answer, err
	}
	err = done.Into(&answer)
	return answer, err
}

// object names a thing for the journal.
func object(kind string, id shop.ID) string { return kind + ":" + id.String() }

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

// edited changes a record within an act: it locks the version that the operator has seen, lets change save it, and
// returns it as it was and as it is.
func edited[T versioned](
	ctx context.Context, what string, id shop.ID, version int64, lock func(ctx context.Context, id shop.ID) (T, error),
	change func(before, after *T) error,
) (before, after T, err error) {
	if before, err = lock(ctx, id); err != nil {
		return before, after, missing(what, id, err)
	}
	if versionOf(before) != version {
		return before, after, journal.Changed("the "+what, before)
	}
	after = before
	if err := change(&before, &after); err != nil {
		return before, after, err
	}
	after, err = lock(ctx, id)
	return before, after, err
}

// set changes a field that an edit names.
func set[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}
