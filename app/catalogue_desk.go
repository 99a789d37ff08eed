package app

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// CatalogueDesk is where operators say what is offered: products with their pictures, categories, slots and sales. Each
// change is an act (act.go), looks at the version that the operator has seen, and can be tried before it is made.
type CatalogueDesk struct {
	Acts   *Journal
	Store  CatalogueKeeper
	Images ImageMaker
	Clean  func(html string) string // leaves of a description what may be shown
	Mint   func() (ID, error)
	Now    func() Millis
	Zone   *time.Location // of the shop's day
	// OnSale hears of sales that were made or edited, once that is committed; nil: nobody needs to. A duty does the
	// same for whom a crash has kept from hearing.
	OnSale func(ctx context.Context, sales []ID)
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
	ctx context.Context, d *CatalogueDesk, actor Actor, dry bool, do func(ctx context.Context) (Act, T, error),
) (T, error) {
	var answer T
	stop := Fail(Conflict, "this was tried only")
	if dry {
		actor.Key = rand.Text()
	}
	done, err := d.Acts.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		what, tried, err := do(ctx)
		if err == nil && dry {
			answer, err = tried, stop
		}
		what.Answer = tried
		return what, err
	})
	var said *Error
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
func object(kind string, id ID) string { return kind + ":" + id.String() }

// missing words a thing that is not there.
func missing(what string, id ID, err error) error {
	if errors.Is(err, ErrNoRow) {
		return Fail(NotFound, "there is no "+what+" "+id.String())
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
		return Fail(BadRequest, name+" is missing")
	case !utf8.ValidString(text) || !printable(bare):
		return Fail(BadRequest, name+" must be text")
	case utf8.RuneCountInString(text) > longest:
		return failf(BadRequest, "%s has %d characters: at most %d are taken", name, utf8.RuneCountInString(text), longest)
	}
	return nil
}

func checkFen(name string, fen, least int64) error {
	if fen < least || fen > dearestFen {
		return failf(BadRequest, "%s must be from %s to %s yuan", name, FormatFen(least), FormatFen(dearestFen))
	}
	return nil
}

// edited changes a record within an act: it locks the version that the operator has seen, lets change save it, and
// returns it as it was and as it is.
func edited[T versioned](
	ctx context.Context, what string, id ID, version int64, lock func(ctx context.Context, id ID) (T, error),
	change func(before, after *T) error,
) (before, after T, err error) {
	if before, err = lock(ctx, id); err != nil {
		return before, after, missing(what, id, err)
	}
	if before.version() != version {
		return before, after, Changed("the "+what, before)
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
