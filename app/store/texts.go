package store

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

type productTextRow struct {
	bun.BaseModel `bun:"table:product_texts"`

	Product     shop.ID `bun:"product_id,pk"`
	Lang        string  `bun:"lang,pk"`
	Name        string  `bun:"name"`
	Description string  `bun:"description"`
	Rules       string  `bun:"rules"`
}

func productTextRows(product shop.ID, texts map[string]shop.ProductText) []productTextRow {
	rows := make([]productTextRow, 0, len(texts))
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		t := texts[lang]
		rows = append(rows, productTextRow{
			Product: product, Lang: lang, Name: t.Name, Description: t.Description, Rules: t.Rules,
		})
	}
	return rows
}

type categoryTextRow struct {
	bun.BaseModel `bun:"table:category_texts"`

	Category shop.ID `bun:"category_id,pk"`
	Lang     string  `bun:"lang,pk"`
	Name     string  `bun:"name"`
}

func categoryTextRows(category shop.ID, texts map[string]shop.CategoryText) []categoryTextRow {
	rows := make([]categoryTextRow, 0, len(texts))
	for _, lang := range slices.Sorted(maps.Keys(texts)) {
		rows = append(rows, categoryTextRow{Category: category, Lang: lang, Name: texts[lang].Name})
	}
	return rows
}

// SaveProductTexts replaces the texts of a product in further languages.
func (s Catalogue) SaveProductTexts(ctx context.Context, product shop.ID, texts map[string]shop.ProductText) error {
	return s.edit(ctx, "save the texts of product "+product.String(), func(tx bun.Conn) error {
		if _, err := exec(ctx, tx, "DELETE FROM product_texts WHERE product_id = ?", product); err != nil {
			return err
		}
		return insertAll(ctx, tx, productTextRows(product, texts))
	})
}

// SaveCategoryTexts replaces the names of a category in further languages.
func (s Catalogue) SaveCategoryTexts(ctx context.Context, category shop.ID, texts map[string]shop.CategoryText) error {
	return s.edit(ctx, "save the names of category "+category.String(), func(tx bun.Conn) error {
		if _, err := exec(ctx, tx, "DELETE FROM category_texts WHERE category_id = ?", category); err != nil {
			return err
		}
		return insertAll(ctx, tx, categoryTextRows(category, texts))
	})
}

// The columns of product_texts for lists and for details.
var (
	namesOnly = []string{"product_id", "lang", "name"}
	allTexts  = []string{"product_id", "lang", "name", "description", "rules"}
)

func readProductTexts(
	ctx context.Context, db bun.IDB, columns []string, products []shop.ID,
) (map[shop.ID]map[string]shop.ProductText, error) {
	var rows []productTextRow
	if len(products) == 0 {
		return nil, nil
	}
	err := db.NewSelect().Model(&rows).Column(columns...).Where("product_id IN (?)", bun.List(products)).Scan(ctx)
	if err != nil {
		return nil, err
	}
	texts := make(map[shop.ID]map[string]shop.ProductText, len(products))
	for _, r := range rows {
		putText(texts, r.Product, r.Lang, shop.ProductText{Name: r.Name, Description: r.Description, Rules: r.Rules})
	}
	return texts, nil
}

func readCategoryTexts(
	ctx context.Context, db bun.IDB, categories []shop.ID,
) (map[shop.ID]map[string]shop.CategoryText, error) {
	var rows []categoryTextRow
	if len(categories) == 0 {
		return nil, nil
	}
	err := db.NewSelect().Model(&rows).Where("category_id IN (?)", bun.List(categories)).Scan(ctx)
	if err != nil {
		return nil, err
	}
	texts := make(map[shop.ID]map[string]shop.CategoryText, len(categories))
	for _, r := range rows {
		putText(texts, r.Category, r.Lang, shop.CategoryText{Name: r.Name})
	}
	return texts, nil
}

func putText[T any](texts map[shop.ID]map[string]T, id shop.ID, lang string, text T) {
	if texts[id] == nil {
		texts[id] = make(map[string]T)
	}
	texts[id][lang] = text
}

// productParts holds the rows of further tables about products.
type productParts struct {
	images     map[shop.ID][]shop.Image
	texts      map[shop.ID]map[string]shop.ProductText
	categories map[shop.ID]map[string]shop.CategoryText
}

// readParts reads the pictures of products, the given columns of their texts, and the texts of their categories.
func readParts(
	ctx context.Context, db bun.IDB, texts []string, products []*productColumns,
) (parts productParts, err error) {
	var ids, categories []shop.ID
	for _, p := range products {
		ids = append(ids, p.Product)
		if p.CategoryID != 0 {
			categories = append(categories, p.CategoryID)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if parts.images, err = readImages(ctx, db, ids); err != nil {
		return parts, err
	}
	if parts.texts, err = readProductTexts(ctx, db, texts, ids); err != nil {
		return parts, err
	}
	slices.Sort(categories)
	parts.categories, err = readCategoryTexts(ctx, db, slices.Compact(categories))
	return parts, err
}

// textsOf returns the texts of a product with the names of its category; nil: none.
func (p *productParts) textsOf(product, category shop.ID) map[string]shop.ProductText {
	texts := maps.Clone(p.texts[product])
	for lang, c := range p.categories[category] {
		if texts == nil {
			texts = make(map[string]shop.ProductText)
		}
		t := texts[lang]
		t.Category = c.Name
		texts[lang] = t
	}
	return texts
}
