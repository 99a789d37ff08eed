package shop

// Category groups products.
type Category struct {
	ID   ID     `json:"id"`
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
}
