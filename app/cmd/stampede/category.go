package main

import "stampede/app"

type categoryCmd struct {
	Create  categoryCreate  `cmd:"" help:"Make a category."`
	List    categoryList    `cmd:"" help:"List categories in their order."`
	Edit    categoryEdit    `cmd:"" help:"Change name or place of a category."`
	Archive categoryArchive `cmd:"" help:"Show a category no more, or again."`
}

type (
	categoryCreate struct {
		Name string `arg:""`
		changing
	}
	categoryList struct {
		listing
	}
	categoryEdit struct {
		ID       app.ID `arg:""`
		Version  int64  `help:"The one that you have seen."`
		Name     string `help:"What people read."`
		Position *int   `help:"Categories are listed by it."`
		changing
	}
	categoryArchive struct {
		ID      app.ID `arg:""`
		Version int64  `help:"The one that you have seen."`
		Restore bool   `help:"Show it again."`
		changing
	}
)

// Run makes a category.
func (c *categoryCreate) Run(e *env) error {
	return e.withDesk(c.changing, func(d *app.CatalogueDesk, actor app.Actor) error {
		made, err := d.CreateCategory(e.ctx, actor, c.DryRun, c.Name)
		if err != nil {
			return err
		}
		return e.did(c.changing, made, "made category %s, %s", made.ID, made.Name)
	})
}

// Run lists.
func (c *categoryList) Run(e *env) error {
	return e.readDesk(func(d *app.CatalogueDesk) error {
		all, err := d.CategoryRecords(e.ctx)
		if err != nil {
			return err
		}
		return list(e, c.JSON, all, "there are none", "id\tversion\tplace\tname\tproducts\tarchived",
			"%s\t%d\t%d\t%s\t%d\t%v",
			func(c app.CategoryRecord) []any {
				return []any{c.ID, c.Version, c.Position, c.Name, c.Products, c.ArchivedAt != 0}
			})
	})
}

// editCategory changes a category as it was seen, or as it is.
func (e *env) editCategory(c changing, id app.ID, edit app.CategoryEdit) error {
	return e.withDesk(c, func(d *app.CatalogueDesk, actor app.Actor) error {
		all, err := d.CategoryRecords(e.ctx)
		if err != nil {
			return err
		}
		for _, now := range all {
			if now.ID == id && edit.Version == 0 {
				edit.Version = now.Version
			}
		}
		changed, err := d.EditCategory(e.ctx, actor, c.DryRun, id, edit)
		if err != nil {
			return err
		}
		return e.did(c, changed, "changed category %s, now version %d", changed.ID, changed.Version)
	})
}

// Run edits.
func (c *categoryEdit) Run(e *env) error {
	return e.editCategory(c.changing, c.ID, app.CategoryEdit{
		Version: c.Version, Name: given(c.Name),
		Position: c.Position,
	})
}

// Run archives.
func (c *categoryArchive) Run(e *env) error {
	gone := !c.Restore
	return e.editCategory(c.changing, c.ID, app.CategoryEdit{Version: c.Version, Archived: &gone})
}
