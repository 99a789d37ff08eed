package backoffice

import (
	"context"
	"slices"
	"strings"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// CategoryEdit is an edit of a category; nil fields stay unchanged.
type CategoryEdit struct {
	Version  int64   `json:"version"`
	Name     *string `json:"name"`
	Position *int    `json:"position"`
	Archived *bool   `json:"archived"`
}

// maxPosition is the highest position. Positions are only used for sorting.
const maxPosition = 1_000_000

// CategoryRecords returns all categories by position, including archived ones.
func (d *CatalogueService) CategoryRecords(ctx context.Context) ([]store.CategoryRecord, error) {
	all, err := d.Store.CategoryRecords(ctx)
	return all, shop.Unavailable("categories", err)
}

// CategoryRecord reads one category. NotFound: no such category.
func (d *CatalogueService) CategoryRecord(ctx context.Context, id shop.ID) (store.CategoryRecord, error) {
	all, err := d.CategoryRecords(ctx) // the list is short
	if err != nil {
		return store.CategoryRecord{}, err
	}
	if i := slices.IndexFunc(all, func(c store.CategoryRecord) bool { return c.ID == id }); i >= 0 {
		return all[i], nil
	}
	return store.CategoryRecord{}, notFound("category", id, shop.ErrNoRow)
}

// CreateCategory creates a category after the existing ones.
func (d *CatalogueService) CreateCategory(
	ctx context.Context, actor journal.Actor, name string,
) (store.CategoryRecord, error) {
	name = strings.TrimSpace(name)
	if err := checkText("name", name, maxCategory, true, false); err != nil {
		return store.CategoryRecord{}, err
	}
	id, err := d.Mint()
	if err != nil {
		return store.CategoryRecord{}, shop.Unavailable("the catalogue", err)
	}
	return store.RunOperationFor[store.CategoryRecord](ctx, d.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			err := checkNameUnused(ctx, tx, id, name)
			if err == nil {
				err = tx.AddCategories(ctx, []shop.Category{{ID: id, Name: name}})
			}
			if err != nil {
				return journal.Operation{}, err
			}
			made, err := tx.LockCategory(ctx, id)
			return journal.Operation{Kind: "category.create", Object: object("category", id), After: made, Result: made}, err
		})
}

// EditCategory applies an edit to a category.
func (d *CatalogueService) EditCategory(
	ctx context.Context, actor journal.Actor, id shop.ID, edit CategoryEdit,
) (store.CategoryRecord, error) {
	return store.RunOperationFor[store.CategoryRecord](ctx, d.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := tx.LockCategory(ctx, id)
			if err = checkVersion("category", id, before, edit.Version, err); err != nil {
				return journal.Operation{}, err
			}
			after := before
			err = d.applyCategoryEdit(&after, &edit)
			if err == nil {
				err = checkNameUnused(ctx, tx, id, after.Name)
			}
			if err == nil {
				err = tx.SaveCategory(ctx, &after)
			}
			if err != nil {
				return journal.Operation{}, err
			}
			after, err = tx.LockCategory(ctx, id)
			return journal.Operation{
				Kind: "category.edit", Object: object("category", id), Before: before, After: after, Result: after,
			}, err
		})
}

func (d *CatalogueService) applyCategoryEdit(c *store.CategoryRecord, edit *CategoryEdit) error {
	set(&c.Name, edit.Name)
	set(&c.Position, edit.Position)
	c.Name = strings.TrimSpace(c.Name)
	c.ArchivedAt = archived(c.ArchivedAt, edit.Archived, d.Now())
	if c.Position < 0 || c.Position > maxPosition {
		return shop.Fail(shop.BadRequest, "position must be from 0 to 1000000")
	}
	return checkText("name", c.Name, maxCategory, true, false)
}

// checkNameUnused rejects the name of another category. Operations are serial, so the name stays free until this one
// ends.
func checkNameUnused(ctx context.Context, tx *store.Store, id shop.ID, name string) error {
	all, err := tx.CategoryRecords(ctx)
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
