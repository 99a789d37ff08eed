package api

import (
	"cmp"
	"context"
	"fmt"
	"html"
	"strings"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
)

// saleTexts has the texts about a sale for link previews and calendars, by language.
var saleTexts = map[string]struct {
	price, listPrice string
	start            string // layout of the opening time
	event            string // title in a calendar
}{
	"en": {"Flash sale: ¥%s", " (list price ¥%s)", ". Starts on 2 January 2006 at 15:04 (UTC-07:00).", "Flash sale: "},
	"zh": {
		"秒杀价 ¥%s", "（原价 ¥%s）",
		"，2006年1月2日 15:04 开抢（UTC-07:00）。", "秒杀：",
	},
}

// salePage sends the page with the title, description and preview of a sale, for browsers and for programs that show a
// shared link. The data come from the snapshot of the node. While the sale cannot be read, salePage sends the page
// without them, and the page shows the reason.
func (h *shopHandlers) salePage(p *page) fiber.Handler {
	return func(c *fiber.Ctx) error {
		lang := acceptedLang(c)
		id, err := pathID(c)
		if err != nil {
			return p.notFound(c)
		}
		sale, err := h.visibleSale(c, id)
		switch {
		case err == nil:
			text := h.addSale(string(p.index[lang].plain), sale, lang)
			return newIndex(text).send(c, fiber.StatusOK)
		case shop.AsError(err).Code == shop.NotFound:
			return p.notFound(c)
		default:
			return p.index[lang].send(c, fiber.StatusOK)
		}
	}
}

// visibleSale reads a sale from the snapshot, without its counters.
func (h *shopHandlers) visibleSale(c *fiber.Ctx, id shop.ID) (*shop.Sale, error) {
	ctx, cancel := context.WithTimeout(logContext(c), callTimeout)
	defer cancel()
	return h.Storefront.Catalogue.VisibleSale(ctx, id)
}

// addSale returns index.html with the data of a sale.
func (h *shopHandlers) addSale(index string, sale *shop.Sale, lang string) string {
	name, description := productName(sale, lang), h.describe(sale, lang)
	head := "<title>" + html.EscapeString(name) + " — Stampede</title>"
	add := func(property, content string) {
		head += fmt.Sprintf("\n    <meta property=%q content=\"%s\" />", property, html.EscapeString(content))
	}
	add("og:site_name", "Stampede")
	add("og:type", "product")
	add("og:title", name)
	add("og:description", description)
	add("og:url", h.saleURL(sale))
	if images := sale.Product.Images; len(images) > 0 {
		image := images[0].URL
		if strings.HasPrefix(image, "/") {
			image = h.Public.String() + image
		}
		add("og:image", image)
	}
	escaped, chineseDescription := html.EscapeString(description), chineseIndex.Replace(indexDescription)
	// The index is English or Chinese; it has one of the two descriptions.
	replacer := strings.NewReplacer(indexTitle, head, indexDescription, escaped, chineseDescription, escaped)
	return replacer.Replace(index)
}

// describe returns the price of a sale and its opening time in the shop's zone.
func (h *shopHandlers) describe(sale *shop.Sale, lang string) string {
	texts := saleTexts[lang]
	description := fmt.Sprintf(texts.price, shop.FormatFen(sale.PriceFen))
	if list := sale.Product.ListPriceFen; list > sale.PriceFen {
		description += fmt.Sprintf(texts.listPrice, shop.FormatFen(list))
	}
	return description + sale.OpensAt.Time().In(h.Zone).Format(texts.start)
}

func (h *shopHandlers) saleURL(sale *shop.Sale) string {
	return h.Public.String() + "/sale/" + sale.ID.String()
}

func productName(sale *shop.Sale, lang string) string {
	return cmp.Or(sale.Product.Texts[lang].Name, sale.Product.Name)
}
