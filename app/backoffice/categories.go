package backoffice

import (
	"context"
	"maps"
	"slices"
	"strings"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// CategoryDraft is an operator's input for a new category.
type CategoryDraft struct {
	Name  string                       `json:"name"`
	Texts map[string]shop.CategoryText `json:"texts"` // by language
}

// CategoryEdit is an edit of a category; nil fields stay unchanged.
type CategoryEdit struct {
	Version  int64   `json:"version"`
	Name     *string `json:"name"`
	Position *int    `json:"position"`
	Archived *bool   `json:"archived"`
	// Texts replaces the names in all further languages.
	Texts map[string]shop.CategoryText `json:"texts"`
}

// maxPosition is the highest position. Positions are only used for sorting.
const maxPosition = 1_000_000

// CategoryRecords returns all categories by position, including archived ones.
func (ps Products) CategoryRecords(ctx context.Context) ([]store.CategoryRecord, error) {
	all, err := ps.Store.Catalogue().CategoryRecords(ctx)
	return all, shop.Unavailable("categories", err)
}

// CategoryRecord reads one category. NotFound: no such category.
func (ps Products) CategoryRecord(ctx context.Context, id shop.ID) (store.CategoryRecord, error) {
	all, err := ps.CategoryRecords(ctx) // the list is short
	if err != nil {
		return store.CategoryRecord{}, err
	}
	if i := slices.IndexFunc(all, func(c store.CategoryRecord) bool { return c.ID == id }); i >= 0 {
		return all[i], nil
	}
	return store.CategoryRecord{}, notFound("category", id, shop.ErrNoRow)
}

// CreateCategory creates a category after the existing ones.
func (ps Products) CreateCategory(
	ctx context.Context, actor journal.Actor, draft CategoryDraft,
) (store.CategoryRecord, error) {
	id, err := ps.Mint()
	if err != nil {
		return store.CategoryRecord{}, shop.Unavailable("the catalogue", err)
	}
	c := shop.Category{ID: id, Name: strings.TrimSpace(draft.Name)}
	if err := checkText("name", c.Name, maxCategory, true, false); err != nil {
		return store.CategoryRecord{}, err
	}
	if c.Texts, err = cleanCategoryTexts(draft.Texts); err != nil {
		return store.CategoryRecord{}, err
	}
	return store.RunOperationFor[store.CategoryRecord](ctx, ps.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			err := checkNameUnused(ctx, tx, id, c.Name)
			if err == nil {
				err = tx.Catalogue().AddCategories(ctx, []shop.Category{c})
			}
			if err != nil {
				return journal.Operation{}, err
			}
			made, err := tx.Catalogue().LockCategory(ctx, id)
			return journal.Operation{Kind: "category.create", Object: object("category", id), After: made, Result: made}, err
		})
}

// EditCategory applies an edit to a category.
func (ps Products) EditCategory(
	ctx context.Context, actor journal.Actor, id shop.ID, edit CategoryEdit,
) (store.CategoryRecord, error) {
	return store.RunOperationFor[store.CategoryRecord](ctx, ps.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := tx.Catalogue().LockCategory(ctx, id)
			if err = checkVersion("category", id, before, before.Version, edit.Version, err); err != nil {
				return journal.Operation{}, err
			}
			after := before
			err = ps.applyCategoryEdit(&after, &edit)
			if err == nil {
				err = checkNameUnused(ctx, tx, id, after.Name)
			}
			if err == nil {
				err = tx.Catalogue().SaveCategory(ctx, &after)
			}
			if err == nil && edit.Texts != nil {
				err = tx.Catalogue().SaveCategoryTexts(ctx, id, after.Texts)
			}
			if err != nil {
				return journal.Operation{}, err
			}
			after, err = tx.Catalogue().LockCategory(ctx, id)
			return journal.Operation{
				Kind: "category.edit", Object: object("category", id), Before: before, After: after, Result: after,
			}, err
		})
}

func (ps Products) applyCategoryEdit(c *store.CategoryRecord, edit *CategoryEdit) error {
	set(&c.Name, edit.Name)
	set(&c.Position, edit.Position)
	c.Name = strings.TrimSpace(c.Name)
	c.ArchivedAt = archived(c.ArchivedAt, edit.Archived, ps.Now())
	if c.Position < 0 || c.Position > maxPosition {
		return shop.Fail(shop.BadRequest, "position must be from 0 to 1000000")
	}
	if err := checkText("name", c.Name, maxCategory, true, false); err != nil || edit.Texts == nil {
		return err
	}
	var err error
	c.Texts, err = cleanCategoryTexts(edit.Texts)
	return err
}

// cleanCategoryTexts trims and checks the names in further languages, and removes empty ones.
func cleanCategoryTexts(texts map[string]shop.CategoryText) (map[string]shop.CategoryText, error) {
	cleaned := make(map[string]shop.CategoryText, len(texts))
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		field := "texts." + lang
		if err := checkLang(field, lang); err != nil {
			return nil, err
		}
		name := strings.TrimSpace(texts[lang].Name)
		if err := checkText(field+".name", name, maxCategory, false, false); err != nil {
			return nil, err
		}
		if name != "" {
			cleaned[lang] = shop.CategoryText{Name: name}
		}
	}
	return cleaned, nil
}

// checkLang rejects languages that the page does not have.
func checkLang(field, lang string) error {
	if !slices.Contains(shop.Langs, lang) {
		return shop.Failf(shop.BadRequest, "%s: the languages are %s", field, strings.Join(shop.Langs, " and "))
	}
	return nil
}

// checkNameUnused rejects the name of another category. Operations are serial, so the name stays free until this one
// ends.
func checkNameUnused(ctx context.Context, tx *store.Store, id shop.ID, name string) error {
	all, err := tx.Catalogue().CategoryRecords(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID != id && c.Name == name {
			return shop.Fail(shop.Conflict, "category "+c.ID.String()+" already has that name")
		}
	}
	return nil
}
