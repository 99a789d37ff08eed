package shop

import (
	"slices"
	"strings"
)

// Category groups products.
type Category struct {
	ID    ID                      `json:"id"`
	Name  string                  `json:"name"`
	Texts map[string]CategoryText `json:"texts,omitempty"` // by language
}

// CategoryText has the text of a category in a further language.
type CategoryText struct {
	Name string `json:"name"`
}

// Image is one picture of a product; URL is a path on this site or an https address.
type Image struct {
	URL string `json:"url"`
	Alt string `json:"alt"`
}

// Product is a product of the shop. Description is sanitised HTML, Rules is plain text. Lists omit Description and
// Rules.
type Product struct {
	ID           ID      `json:"id"`
	Name         string  `json:"name"`
	Category     string  `json:"category"`
	CategoryID   ID      `json:"category_id,omitempty"`
	Images       []Image `json:"images"`
	ListPriceFen int64   `json:"list_price_fen"`
	Ships        bool    `json:"ships"` // an order of it cannot be paid without a delivery address
	Description  string  `json:"description,omitempty"`
	Rules        string  `json:"rules,omitempty"`
	// Texts has the texts in further languages, by language.
	Texts map[string]ProductText `json:"texts,omitempty"`
}

// ProductText has the texts of a product in a further language. An empty field has no translation: the field of the
// product applies.
type ProductText struct {
	Name        string `json:"name,omitempty"`
	Category    string `json:"category,omitempty"` // of the category; an edit of the product ignores it
	Description string `json:"description,omitempty"`
	Rules       string `json:"rules,omitempty"`
}

// OmitDetails removes description and rules in all languages. Copies of p, which share the map Texts, do not change.
func (p *Product) OmitDetails() { p.Description, p.Rules, p.Texts = "", "", p.ListTexts() }

// ListTexts returns a copy of Texts without description and rules; nil: no texts.
func (p *Product) ListTexts() map[string]ProductText {
	if len(p.Texts) == 0 {
		return nil
	}
	texts := make(map[string]ProductText, len(p.Texts))
	for lang, t := range p.Texts {
		if t.Name != "" || t.Category != "" {
			texts[lang] = ProductText{Name: t.Name, Category: t.Category}
		}
	}
	return texts
}

// Langs has the languages of the page, of e-mails and of texts in the catalogue.
var Langs = []string{"en", "zh"}

// ParseLang accepts the languages of Langs.
func ParseLang(s string) (string, error) {
	if slices.Contains(Langs, s) {
		return s, nil
	}
	return "", Fail(BadRequest, "lang must be "+strings.Join(Langs, " or "))
}
