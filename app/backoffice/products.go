package backoffice

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// ProductDraft is an operator's input for a new product.
type ProductDraft struct {
	Name         string       `json:"name"`
	CategoryID   shop.ID      `json:"category_id,omitzero"`
	ListPriceFen int64        `json:"list_price_fen"`
	Ships        *bool        `json:"ships"` // nil: yes
	Description  string       `json:"description"`
	Rules        string       `json:"rules"`
	Images       []shop.Image `json:"images"`
	// Texts has the texts in further languages, by language.
	Texts map[string]shop.ProductText `json:"texts"`
}

// ProductEdit is an edit of a product; nil fields stay unchanged. Version is the version that the operator has seen.
type ProductEdit struct {
	Version      int64    `json:"version"`
	Name         *string  `json:"name"`
	CategoryID   *shop.ID `json:"category_id"` // 0: no category
	ListPriceFen *int64   `json:"list_price_fen"`
	Ships        *bool    `json:"ships"`
	Description  *string  `json:"description"`
	Rules        *string  `json:"rules"`
	Archived     *bool    `json:"archived"`
	// Texts replaces all texts in further languages.
	Texts map[string]shop.ProductText `json:"texts"`
}

// SavedProduct is a product after an operation. Removed names the markup that was removed from its descriptions.
type SavedProduct struct {
	store.ProductRecord

	Removed []string `json:"removed,omitempty"`
}

// ProductRecords lists products and reports whether another page exists.
func (ps Products) ProductRecords(
	ctx context.Context, q store.ProductsQuery,
) ([]store.ProductRecord, bool, error) {
	page, more, err := ps.Store.Catalogue().ProductRecords(ctx, q)
	return page, more, shop.Unavailable("products", err)
}

// ProductRecord reads one product. NotFound: no such product.
func (ps Products) ProductRecord(ctx context.Context, id shop.ID) (store.ProductRecord, error) {
	p, err := ps.Store.Catalogue().ProductRecord(ctx, id)
	if errors.Is(err, shop.ErrNoRow) {
		return p, notFound("product", id, err)
	}
	return p, shop.Unavailable("the product", err)
}

// CreateProduct creates a product.
func (ps Products) CreateProduct(
	ctx context.Context, actor journal.Actor, draft ProductDraft,
) (SavedProduct, error) {
	var removed []string
	p, err := ps.newProduct(draft, &removed)
	if err != nil {
		return SavedProduct{}, err
	}
	return store.RunOperationFor[SavedProduct](ctx, ps.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			err := checkCategory(ctx, tx, p.CategoryID)
			if err == nil {
				err = checkImages(ctx, tx, p.Images)
			}
			if err == nil {
				err = keepDescribedImages(ctx, tx, p)
			}
			if err == nil {
				err = tx.Catalogue().AddProducts(ctx, []shop.Product{p})
			}
			if err != nil {
				return journal.Operation{}, err
			}
			made, err := tx.Catalogue().LockProduct(ctx, p.ID)
			return journal.Operation{
				Kind: "product.create", Object: object("product", p.ID), After: made,
				Result: SavedProduct{ProductRecord: made, Removed: removed},
			}, err
		})
}

// newProduct returns the product of a draft with a new id. Here and in the checks below, removed receives the names of
// removed markup.
func (ps Products) newProduct(draft ProductDraft, removed *[]string) (shop.Product, error) {
	id, err := ps.Mint()
	if err != nil {
		return shop.Product{}, shop.Unavailable("the catalogue", err)
	}
	p := shop.Product{
		ID: id, Name: strings.TrimSpace(draft.Name), CategoryID: draft.CategoryID, Images: draft.Images,
		ListPriceFen: draft.ListPriceFen, Ships: draft.Ships == nil || *draft.Ships,
		Description: draft.Description, Rules: draft.Rules,
	}
	if p.Texts, err = ps.cleanTexts(draft.Texts, removed); err != nil {
		return shop.Product{}, err
	}
	return p, ps.checkProduct(&p, removed)
}

// EditProduct applies an edit to a product. Open sales show the new values as well: buyers are not promised a name or a
// picture, and the price belongs to the sale.
func (ps Products) EditProduct(
	ctx context.Context, actor journal.Actor, id shop.ID, edit ProductEdit,
) (SavedProduct, error) {
	var removed []string
	if edit.Texts != nil {
		var err error
		if edit.Texts, err = ps.cleanTexts(edit.Texts, &removed); err != nil {
			return SavedProduct{}, err
		}
	}
	kind := "product.edit"
	if edit.Archived != nil && *edit.Archived {
		kind = "product.archive"
	}
	return store.RunOperationFor[SavedProduct](ctx, ps.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := tx.Catalogue().LockProduct(ctx, id)
			if err = checkVersion("product", id, before, before.Version, edit.Version, err); err != nil {
				return journal.Operation{}, err
			}
			after := before
			ps.applyProductEdit(&after, &edit)
			err = ps.checkProduct(&after.Product, &removed)
			if err == nil && edit.CategoryID != nil {
				err = checkCategory(ctx, tx, after.CategoryID)
			}
			if err == nil {
				err = keepDescribedImages(ctx, tx, after.Product)
			}
			if err == nil {
				err = tx.Catalogue().SaveProduct(ctx, &after)
			}
			if err == nil && edit.Texts != nil {
				err = tx.Catalogue().SaveProductTexts(ctx, id, after.Texts)
			}
			if err != nil {
				return journal.Operation{}, err
			}
			after, err = tx.Catalogue().LockProduct(ctx, id)
			return journal.Operation{
				Kind: kind, Object: object("product", id), Before: before, After: after,
				Result: SavedProduct{ProductRecord: after, Removed: removed},
			}, err
		})
}

func (ps Products) applyProductEdit(p *store.ProductRecord, edit *ProductEdit) {
	set(&p.Name, edit.Name)
	set(&p.CategoryID, edit.CategoryID)
	set(&p.ListPriceFen, edit.ListPriceFen)
	set(&p.Ships, edit.Ships)
	set(&p.Description, edit.Description)
	set(&p.Rules, edit.Rules)
	if edit.Texts != nil {
		p.Texts = edit.Texts
	}
	p.Name = strings.TrimSpace(p.Name)
	p.ArchivedAt = archived(p.ArchivedAt, edit.Archived, ps.Now())
}

// archived returns the archive time of a record after an edit; 0: not archived.
func archived(since shop.Millis, edit *bool, now shop.Millis) shop.Millis {
	switch {
	case edit == nil || *edit && since != 0:
		return since
	case *edit:
		return now
	}
	return 0
}

// SetProductImages replaces the pictures of a product, in display order. Removed pictures stay stored as long as new
// pictures that no product uses, so that an edit can restore the removed pictures.
func (ps Products) SetProductImages(
	ctx context.Context, actor journal.Actor, id shop.ID, version int64, images []shop.Image,
) (store.ProductRecord, error) {
	if err := checkImageTexts(images); err != nil {
		return store.ProductRecord{}, err
	}
	return store.RunOperationFor[store.ProductRecord](ctx, ps.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			before, err := tx.Catalogue().LockProduct(ctx, id)
			if err = checkVersion("product", id, before, before.Version, version, err); err != nil {
				return journal.Operation{}, err
			}
			err = checkImages(ctx, tx, images)
			if err == nil {
				err = tx.Catalogue().SaveProductImages(ctx, id, images)
			}
			if err == nil {
				err = tx.Images().RenewImages(ctx, removedImages(before.Images, images))
			}
			if err == nil {
				err = tx.Catalogue().SaveProduct(ctx, &before)
			}
			if err != nil {
				return journal.Operation{}, err
			}
			after, err := tx.Catalogue().LockProduct(ctx, id)
			return journal.Operation{
				Kind: "product.images", Object: object("product", id), Before: before.Images, After: after.Images, Result: after,
			}, err
		})
}

// checkProduct rejects products that cannot be shown. It cleans the description.
func (ps Products) checkProduct(p *shop.Product, removed *[]string) error {
	if err := checkText("name", p.Name, maxName, true, false); err != nil {
		return err
	}
	if err := checkFen("list_price_fen", p.ListPriceFen, 0); err != nil {
		return err
	}
	if err := checkText("rules", p.Rules, maxRules, false, true); err != nil {
		return err
	}
	var err error
	if p.Description, err = ps.cleanDescription("description", p.Description, removed); err != nil {
		return err
	}
	return checkImageTexts(p.Images)
}

// cleanDescription returns the description as sanitised HTML. field is the name of the field for errors.
func (ps Products) cleanDescription(field, html string, removed *[]string) (string, error) {
	if err := checkText(field, html, maxDescription, false, true); err != nil {
		return "", err
	}
	html, names := ps.Clean(html)
	for _, name := range names {
		if !slices.Contains(*removed, name) {
			*removed = append(*removed, name)
		}
	}
	if len(html) > maxDescription {
		return "", shop.Failf(shop.BadRequest, "%s has %d bytes as HTML: the limit is %d", field, len(html), maxDescription)
	}
	return html, nil
}

// cleanTexts returns the texts in the form in which they are stored: without the name of the category and without
// languages that have no text.
func (ps Products) cleanTexts(
	texts map[string]shop.ProductText, removed *[]string,
) (map[string]shop.ProductText, error) {
	cleaned := make(map[string]shop.ProductText, len(texts))
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		field := "texts." + lang
		if err := checkLang(field, lang); err != nil {
			return nil, err
		}
		t := texts[lang]
		t.Name, t.Category, t.Rules = strings.TrimSpace(t.Name), "", strings.TrimSpace(t.Rules)
		if err := checkText(field+".name", t.Name, maxName, false, false); err != nil {
			return nil, err
		}
		if err := checkText(field+".rules", t.Rules, maxRules, false, true); err != nil {
			return nil, err
		}
		var err error
		t.Description, err = ps.cleanDescription(field+".description", strings.TrimSpace(t.Description), removed)
		if err != nil {
			return nil, err
		}
		if t != (shop.ProductText{}) {
			cleaned[lang] = t
		}
	}
	return cleaned, nil
}

// imageAddress matches addresses of uploaded pictures; imagePath matches pictures that are part of the page;
// describedImage matches uploaded pictures in a description.
var (
	imageAddress   = regexp.MustCompile(`^/images/([0-9a-f]{64})\.(jpg|png)$`)
	imagePath      = regexp.MustCompile(`^/products/[a-z0-9-]{1,60}\.svg$`)
	describedImage = regexp.MustCompile(`"/images/([0-9a-f]{64})\.`)
)

// checkImageTexts rejects pictures on other sites: those sites would see the visitors of the page.
func checkImageTexts(images []shop.Image) error {
	if len(images) > maxImages {
		return shop.Failf(shop.BadRequest, "a product has at most %d pictures", maxImages)
	}
	for i, image := range images {
		if !imageAddress.MatchString(image.URL) && !imagePath.MatchString(image.URL) {
			return shop.Failf(shop.BadRequest, "images[%d].url must be the URL of a picture that was uploaded to this shop", i)
		}
		if err := checkText(fmt.Sprintf("images[%d].alt", i), image.Alt, maxAlt, false, false); err != nil {
			return err
		}
	}
	return nil
}

// checkImages rejects pictures that are not stored. It locks the stored ones until the operation ends, so that no job
// removes them.
func checkImages(ctx context.Context, tx *store.Store, images []shop.Image) error {
	ids := imageIDs(images)
	if len(ids) == 0 {
		return nil
	}
	known, err := tx.Images().LockImages(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !known[id] {
			return shop.Fail(shop.BadRequest, "there is no picture "+id+": upload it first")
		}
	}
	return nil
}

// keepDescribedImages locks the stored pictures in the descriptions of the products until the operation ends, so that
// no job removes them.
func keepDescribedImages(ctx context.Context, tx *store.Store, products ...shop.Product) error {
	var ids []string
	add := func(html string) {
		for _, parts := range describedImage.FindAllStringSubmatch(html, -1) {
			ids = append(ids, parts[1])
		}
	}
	for _, p := range products {
		add(p.Description)
		for _, text := range p.Texts {
			add(text.Description)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.Images().LockImages(ctx, ids)
	return err
}

func removedImages(before, after []shop.Image) []string {
	remaining := imageIDs(after)
	return slices.DeleteFunc(imageIDs(before), func(id string) bool { return slices.Contains(remaining, id) })
}

// imageIDs returns the ids of uploaded pictures.
func imageIDs(images []shop.Image) (ids []string) {
	for _, image := range images {
		if parts := imageAddress.FindStringSubmatch(image.URL); parts != nil {
			ids = append(ids, parts[1])
		}
	}
	return ids
}

// checkCategory rejects a category that does not exist. 0 means no category.
func checkCategory(ctx context.Context, tx *store.Store, id shop.ID) error {
	if id == 0 {
		return nil
	}
	c, err := tx.Catalogue().LockCategory(ctx, id)
	if errors.Is(err, shop.ErrNoRow) || err == nil && c.ArchivedAt != 0 {
		return shop.Fail(shop.BadRequest, "there is no category "+id.String())
	}
	return err
}
