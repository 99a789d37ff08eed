package main

import (
	"net/http"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

type categoryCmd struct {
	Create  categoryCreate  `cmd:"" help:"Create a category."`
	List    categoryList    `cmd:"" help:"List categories in display order."`
	Edit    categoryEdit    `cmd:"" help:"Change the name or position of a category."`
	Archive categoryArchive `cmd:"" help:"Hide a category, or restore it."`
}

type (
	categoryCreate struct {
		Name string `arg:""`
		changeFlags
	}
	categoryList struct{ readFlags }
	categoryEdit struct {
		ID       shop.ID `arg:""`
		Version  int64   `help:"Change it only if it still has this version."`
		Name     string  `help:"Name on the page."`
		Position *int    `help:"Position in the list."`
		changeFlags
	}
	categoryArchive struct {
		ID      shop.ID `arg:""`
		Version int64   `help:"Change it only if it still has this version."`
		Restore bool    `help:"Restore it."`
		changeFlags
	}
)

func (c *categoryCreate) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var made store.CategoryRecord
		body := map[string]string{"name": c.Name}
		err := api.change(http.MethodPost, c.withDryRun("/categories"), body, &made)
		return e.resultOrDryRun(c.changeFlags, err, made, "created category %s, %s", made.ID, made.Name)
	})
}

func (c *categoryList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		all, _, err := page[store.CategoryRecord](api, collection{"/categories", "categories"}, nil)
		return list(e, c.JSON, err, all, listing[store.CategoryRecord]{
			none: "no categories", head: "id\tversion\tplace\tname\tproducts\tarchived",
			columns: func(c store.CategoryRecord) []any {
				return []any{c.ID, c.Version, c.Position, c.Name, c.Products, c.ArchivedAt != 0}
			},
		})
	})
}

// editCategory changes a category at the version of the edit. If the edit has no version, it reads the current version.
func (e *env) editCategory(c changeFlags, id shop.ID, edit backoffice.CategoryEdit) error {
	return e.operate(c.operationFlags, func(api *client) (err error) {
		path := "/categories/" + id.String()
		if edit.Version, err = api.version(path, edit.Version); err != nil {
			return err
		}
		var changed store.CategoryRecord
		err = api.change(http.MethodPatch, c.withDryRun(path), edit, &changed)
		return e.resultOrDryRun(c, err, changed, "changed category %s, now version %d", changed.ID, changed.Version)
	})
}

func (c *categoryEdit) Run(e *env) error {
	edit := backoffice.CategoryEdit{Version: c.Version, Name: flagValue(c.Name), Position: c.Position}
	return e.editCategory(c.changeFlags, c.ID, edit)
}

func (c *categoryArchive) Run(e *env) error {
	return e.editCategory(c.changeFlags, c.ID, backoffice.CategoryEdit{Version: c.Version, Archived: new(!c.Restore)})
}
