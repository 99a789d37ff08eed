package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

type productCmd struct {
	Create  productCreate  `cmd:"" help:"Create a product."`
	List    productList    `cmd:"" help:"List products, newest first."`
	Show    productShow    `cmd:"" help:"Show a product."`
	Edit    productEdit    `cmd:"" help:"Change the given fields of a product."`
	Archive productArchive `cmd:"" help:"Archive a product, or restore it."`
	Image   productImage   `cmd:"" help:"Add pictures to a product: JPEG, PNG or WebP files of at most 8 MiB."`
	Import  productImport  `cmd:"" help:"Create and change products from a table (CSV): all lines, or none."`
	Export  productExport  `cmd:"" help:"Write all products to a table (CSV)."`
}

func (productCmd) Help() string {
	return "Prices are in yuan. Each change is a row of the journal. An edit with --version fails if another operator " +
		"has changed the product since that version. Without --version, the edit applies to the current version.\n\n" +
		"Examples:\n\n" +
		"    stampede product create --name 'Morning Kettle' --list-price 459\n" +
		"    stampede product image 7301444403200000101 kettle.jpg --alt 'White kettle'\n" +
		"    stampede product export products.csv"
}

type (
	productCreate struct {
		Name        string  `required:"" help:"Name on the page."`
		Category    shop.ID `placeholder:"ID" help:"Id from stampede category list."`
		ListPrice   string  `default:"0" placeholder:"YUAN" help:"Regular price, for example 459 or 459.50."`
		Ships       bool    `default:"true" negatable:"" help:"Orders need a delivery address before payment."`
		Description string  `placeholder:"HTML" help:"Description with paragraphs, headings, lists, tables, quotes, emphasis, https links and pictures; other markup is removed."`
		Rules       string  `help:"Purchase rules, as plain text."`
		changeFlags
	}
	productList struct {
		Text     string `placeholder:"TEXT" help:"Only products with this text in their name."`
		Archived bool   `help:"List archived products."`
		Limit    int    `default:"50" help:"Maximum number of products."`
		readFlags
	}
	productShow struct {
		ID shop.ID `arg:""`
		readFlags
	}
	productEdit struct {
		ID          shop.ID  `arg:""`
		Version     int64    `help:"Change it only if it still has this version."`
		Name        string   `help:"Name on the page."`
		Category    *shop.ID `placeholder:"ID" help:"Id from stampede category list."`
		ListPrice   string   `placeholder:"YUAN" help:"Regular price."`
		Ships       *bool    `negatable:"" help:"Orders need a delivery address before payment."`
		Description *string  `placeholder:"HTML" help:"Replaces the description."`
		Rules       *string  `help:"Replaces the rules."`
		changeFlags
	}
	productArchive struct {
		ID      shop.ID `arg:""`
		Version int64   `help:"Change it only if it still has this version."`
		Restore bool    `help:"Restore it."`
		changeFlags
	}
	productImage struct {
		ID      shop.ID  `arg:""`
		Files   []string `arg:"" help:"Picture files, in display order."`
		Alt     []string `help:"Alternative text of each picture, for screen readers."`
		Replace bool     `help:"Replace the present pictures. Default: append to them."`
		changeFlags
	}
	productImport struct {
		File string `arg:"" help:"Table in the format of export; - is standard input."`
		importFlags
	}
	productExport struct {
		File string `arg:"" default:"-" help:"Output file; - is standard output."`
		serverFlags
	}
)

func (c *productCreate) Run(e *env) error {
	price, err := yuan(c.ListPrice)
	if err != nil {
		return err
	}
	return e.operate(c.operationFlags, func(api *client) error {
		var p backoffice.SavedProduct
		err := api.change(http.MethodPost, c.withDryRun("/products"), backoffice.ProductDraft{
			Name: c.Name, CategoryID: c.Category, ListPriceFen: price, Description: c.Description, Rules: c.Rules,
			Ships: &c.Ships,
		}, &p)
		return e.resultOrDryRun(c.changeFlags, err, p, "created product %s, %s", p.ID, p.Name)
	})
}

func (c *productList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		query := url.Values{"q": {c.Text}, "archived": {strconv.FormatBool(c.Archived)}}
		found, err := pages[store.ProductRecord](api, collection{"/products", "products"}, query, c.Limit, nil)
		return list(e, c.JSON, err, found, listing[store.ProductRecord]{
			none: "no products", head: "id\tversion\tname\tcategory\tlist price\tpictures",
			columns: func(p store.ProductRecord) []any {
				return []any{p.ID, p.Version, p.Name, p.Category, shop.FormatFen(p.ListPriceFen), len(p.Images)}
			},
		})
	})
}

func (c *productShow) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var p store.ProductRecord
		err := api.get("/products/"+c.ID.String(), nil, &p)
		return e.show(c.JSON, err, p, func() error {
			fmt.Fprintf(e.out, "product  %s, version %d, changed %s\nname     %s\ncategory %s\nprice    %s yuan\n\n%s\n\n%s\n",
				p.ID, p.Version, e.localTime(p.UpdatedAt), p.Name, p.Category, shop.FormatFen(p.ListPriceFen),
				p.Description,
				p.Rules)
			for _, image := range p.Images {
				fmt.Fprintln(e.out, image.URL, image.Alt)
			}
			return nil
		})
	})
}

// editProduct changes a product at the version of the edit. If the edit has no version, it reads the current version.
func (e *env) editProduct(c changeFlags, id shop.ID, edit backoffice.ProductEdit) error {
	return e.operate(c.operationFlags, func(api *client) (err error) {
		path := "/products/" + id.String()
		if edit.Version, err = api.version(path, edit.Version); err != nil {
			return err
		}
		var p backoffice.SavedProduct
		err = api.change(http.MethodPatch, c.withDryRun(path), edit, &p)
		return e.resultOrDryRun(c, err, p, "changed product %s, now version %d", p.ID, p.Version)
	})
}

func (c *productEdit) Run(e *env) error {
	price, err := optionalYuan(c.ListPrice)
	if err != nil {
		return err
	}
	return e.editProduct(c.changeFlags, c.ID, backoffice.ProductEdit{
		Version: c.Version, Name: flagValue(c.Name), CategoryID: c.Category, ListPriceFen: price,
		Description: c.Description, Rules: c.Rules, Ships: c.Ships,
	})
}

func (c *productArchive) Run(e *env) error {
	return e.editProduct(c.changeFlags, c.ID, backoffice.ProductEdit{Version: c.Version, Archived: new(!c.Restore)})
}

// Run uploads each picture in its own operation, then assigns them to the product. The server deletes a picture that no
// product shows after a day.
func (c *productImage) Run(e *env) error {
	files := make([][]byte, len(c.Files))
	for i, name := range c.Files {
		var err error
		if files[i], err = e.file(name); err != nil {
			return err
		}
	}
	return e.operate(c.operationFlags, func(api *client) error {
		path := "/products/" + c.ID.String()
		var p store.ProductRecord
		if err := api.get(path, nil, &p); err != nil {
			return err
		}
		images := p.Images
		if c.Replace {
			images = nil
		}
		for i, file := range files {
			var shown backoffice.UploadedImage
			if err := api.change(http.MethodPost, c.withDryRun("/images"), file, &shown); err != nil {
				return fmt.Errorf("%s: %w", c.Files[i], err)
			}
			image := shop.Image{URL: shown.URL}
			if i < len(c.Alt) {
				image.Alt = c.Alt[i]
			}
			images = append(images, image)
		}
		if c.DryRun { // the pictures were not uploaded, so they cannot be assigned
			return e.resultOrDryRun(c.changeFlags, nil, images, "updated product %s: %d pictures", p.ID, len(images))
		}
		body := map[string]any{"version": p.Version, "images": images}
		err := api.change(http.MethodPut, path+"/images", body, &p)
		return e.resultOrDryRun(c.changeFlags, err, p, "updated product %s: %d pictures", p.ID, len(p.Images))
	})
}

func (c *productImport) Run(e *env) error { return e.importTable(c.importFlags, c.File, "products") }

func (c *productExport) Run(e *env) error {
	return e.export(c.serverFlags, c.File, "/export/products.csv", nil)
}
