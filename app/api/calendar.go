package api

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
)

const (
	calendarTime = "20060102T150405Z" // UTC
	maxLineBytes = 75                 // RFC 5545, section 3.1; without the line break
)

// calendar sends a sale as a calendar file (RFC 5545) with an alarm five minutes before the opening.
func (h *shopHandlers) calendar(c *fiber.Ctx) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	lang, err := shop.ParseLang(c.Query("lang", acceptedLang(c)))
	if err != nil {
		return err
	}
	sale, err := h.visibleSale(c, id)
	if err != nil {
		return err
	}
	title := escapeCalendarText(saleTexts[lang].event + productName(sale, lang))
	var b strings.Builder
	for _, line := range []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Stampede//Sales//EN",
		"BEGIN:VEVENT",
		"UID:sale-" + id.String() + "@" + cmp.Or(h.Public.Hostname(), "stampede"),
		"DTSTAMP:" + h.Now().Time().Format(calendarTime),
		"DTSTART:" + sale.OpensAt.Time().Format(calendarTime),
		"DTEND:" + sale.ClosesAt.Time().Format(calendarTime),
		"SUMMARY:" + title,
		"URL:" + h.saleURL(sale),
		"BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT5M", "DESCRIPTION:" + title, "END:VALARM",
		"END:VEVENT", "END:VCALENDAR",
	} {
		writeFolded(&b, line)
	}
	c.Set(fiber.HeaderContentType, "text/calendar; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="sale-`+id.String()+`.ics"`)
	return c.SendString(b.String())
}

var calendarEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)

// escapeCalendarText returns a text as the value of a property. It removes control characters, which are not allowed.
func escapeCalendarText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, calendarEscapes.Replace(text))
}

// writeFolded writes a line. A line that is too long continues in lines that start with a space. No character is
// split.
func writeFolded(b *strings.Builder, line string) {
	for size := maxLineBytes; len(line) > size; size = maxLineBytes - 1 {
		end := size
		for !utf8.RuneStart(line[end]) {
			end--
		}
		b.WriteString(line[:end] + "\r\n ")
		line = line[end:]
	}
	b.WriteString(line + "\r\n")
}
