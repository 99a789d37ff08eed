package api

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A sale is available as a calendar file with its exact times and an alarm.
func TestCalendarHasTimesOfSale(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, withIndex(t))
	sale, err := w.db.Sales().Sale(w.ctx, 7)
	w.must(err)
	const path = "/api/v1/sales/7/calendar"
	got := s.request("GET", path, "", "Accept-Language", "fr")
	s.want(got, 200, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:")
	for _, line := range []string{
		"UID:sale-7@shop.example",
		"DTSTART:" + sale.OpensAt.Time().Format("20060102T150405Z"),
		"DTEND:" + sale.ClosesAt.Time().Format("20060102T150405Z"),
		"SUMMARY:Flash sale: =Lamp", "URL:https://shop.example/sale/7",
		"BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nDESCRIPTION:Flash sale: =Lamp\r\nEND:VALARM\r\nEND:VEVENT",
	} {
		s.want(got, 200, "\r\n"+line+"\r\n")
	}
	for header, want := range map[string]string{
		"Content-Type":        "text/calendar; charset=utf-8",
		"Content-Disposition": `attachment; filename="sale-7.ics"`,
	} {
		if is := got.header.Get(header); is != want {
			t.Errorf("%s: got %q, want %q", header, is, want)
		}
	}
	s.want(s.request("GET", path, "", "Accept-Language", "zh-CN"), 200, "\r\nSUMMARY:秒杀：灯\r\n")
	s.want(s.request("GET", path+"?lang=zh", ""), 200, "\r\nSUMMARY:秒杀：灯\r\n")
	s.want(s.request("GET", path+"?lang=en", "", "Accept-Language", "zh"), 200, "=Lamp\r\n")
	s.want(s.request("GET", path+"?lang=fr", ""), 400, "lang must be")
	s.want(s.request("GET", "/api/v1/sales/9/calendar", ""), 404, "not_found")
	s.want(s.request("GET", "/api/v1/sales/x/calendar", ""), 400, "positive decimal")
}

// A product name cannot add lines to a calendar file. Long lines are folded between characters.
func TestCalendarEscapesAndFoldsNames(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, nil)
	renameProduct(w, hostileName)
	got := s.request("GET", "/api/v1/sales/8/calendar", "")
	if got.code != 200 || strings.Contains(strings.ReplaceAll(got.body, "\r\n", ""), "\n") {
		t.Fatalf("got %d %q, want only CRLF line breaks", got.code, got.body)
	}
	lines := strings.Split(strings.TrimSuffix(got.body, "\r\n"), "\r\n")
	folded := 0
	for _, line := range lines {
		if len(line) > 75 || !utf8.ValidString(line) {
			t.Errorf("got the line %q of %d bytes, want valid UTF-8 of at most 75 bytes", line, len(line))
		}
		if strings.HasPrefix(line, " ") {
			folded++
		}
	}
	if folded < 4 { // two lines each of the summary and the description
		t.Errorf("got %d continuation lines, want at least 4", folded)
	}
	want := `SUMMARY:Flash sale: "><script>alert('1')</script>&amp\; a\,b\;c\\d\nEND:VCALENDAR\nx ` +
		strings.Repeat("灯", 32) + "\r\n"
	if unfolded := strings.ReplaceAll(got.body, "\r\n ", ""); strings.Count(unfolded, want) != 1 ||
		strings.Count(unfolded, "\r\nEND:VCALENDAR\r\n") != 1 {
		t.Errorf("got %s, want %s once and one end", unfolded, want)
	}
}
