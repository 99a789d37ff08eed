package sim

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"stampede/app/shop"
)

// The methods of the lists.
const (
	sellMethod       = "alipay.data.bill.sell.query"
	accountLogMethod = "alipay.data.bill.accountlog.query"
	billMethod       = "alipay.data.dataservice.bill.downloadurl.query"
)

// The limits of a list.
const (
	minPage, maxPage = 1000, 2000
	maxListRange     = 31 * 24 * time.Hour
)

func isList(method string) bool {
	return slices.Contains([]string{sellMethod, accountLogMethod, billMethod}, method)
}

// AddForeign adds a paid trade of another shop that uses the same account. Its number and its body may be any text.
func (s *Simulator) AddForeign(order, body string, fen int64) {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	t := &Trade{
		Order: order, Subject: "another shop", Body: body, AmountFen: fen, TakenFen: fen, ExpiresAt: s.now().Add(time.Hour),
	}
	s.book.orders[order] = t
	s.book.start(t)
	t.Status, t.PaidAt = Success, s.now()
}

// listRange has the range and the page of a list.
type listRange struct {
	from, to   time.Time
	page, size int
}

func (s *Simulator) listRange(q request) (r listRange, rejected *rejection) {
	invalid := &rejection{"40004", "INVALID_PARAMETER"}
	var err error
	if r.from, err = time.ParseInLocation(timeFormat, q.content.StartTime, s.zone); err != nil {
		return r, invalid
	}
	if r.to, err = time.ParseInLocation(timeFormat, q.content.EndTime, s.zone); err != nil {
		return r, invalid
	}
	if r.page, err = strconv.Atoi(q.content.PageNo); err != nil || r.page < 1 {
		return r, invalid
	}
	if r.size, err = strconv.Atoi(q.content.PageSize); err != nil || r.size < minPage || r.size > maxPage {
		return r, invalid
	}
	if !r.from.Before(r.to) || r.to.Sub(r.from) > maxListRange {
		return r, invalid
	}
	return r, nil
}

func (r *listRange) contains(at time.Time) bool { return !at.Before(r.from) && at.Before(r.to) }

// reply returns a page of the rows.
func (r *listRange) reply(rows []fields) fields {
	from, to := min((r.page-1)*r.size, len(rows)), min(r.page*r.size, len(rows))
	return fields{
		"code": "10000", "msg": "Success", "page_no": strconv.Itoa(r.page), "page_size": strconv.Itoa(r.size),
		"total_size": strconv.Itoa(len(rows)), "detail_list": rows[from:to],
	}
}

// listed reports whether a change at this time is in the lists already.
func (s *Simulator) listed(at time.Time) bool { return !at.Add(s.listDelay).After(s.now()) }

// soldTrades lists paid trades by their creation.
func (s *Simulator) soldTrades(q request) (fields, *rejection) {
	r, rejected := s.listRange(q)
	if rejected != nil {
		return nil, rejected
	}
	rows := []fields{}
	for _, t := range s.Ledger().Trades {
		if t.TakenFen == 0 || !r.contains(t.CreatedAt) || !s.listed(t.PaidAt) {
			continue
		}
		row := fields{
			"alipay_order_no": t.No, "merchant_order_no": t.Order, "goods_title": t.Subject, "goods_memo": t.Body,
			"total_amount": shop.FormatFen(t.AmountFen), "trade_status": "成功", "trade_type": "即时到账交易",
			"gmt_create": s.format(t.CreatedAt), "gmt_pay": s.format(t.PaidAt),
		}
		var refunded int64
		for _, refund := range t.Refunds {
			if s.listed(refund.At) {
				refunded += refund.AmountFen
				row["refund_amount"], row["gmt_refund"] = shop.FormatFen(refunded), s.format(refund.At)
			}
		}
		rows = append(rows, row)
	}
	return r.reply(rows), nil
}

// accountLog lists payments and refunds by their booking.
func (s *Simulator) accountLog(q request) (fields, *rejection) {
	r, rejected := s.listRange(q)
	if rejected != nil {
		return nil, rejected
	}
	rows := []fields{}
	add := func(t *Trade, at time.Time, fen int64, direction, refund string) {
		if r.contains(at) && s.listed(at) {
			rows = append(rows, fields{
				"trans_dt": s.format(at), "account_log_id": fmt.Sprintf("%d", 1_000_000+len(rows)), "alipay_order_no": t.No,
				"merchant_order_no": t.Order, "trans_amount": formatSigned(fen), "direction": direction, "type": "交易",
				"merchant_out_refund_no": refund,
			})
		}
	}
	for _, t := range s.Ledger().Trades {
		if t.TakenFen > 0 {
			add(&t, t.PaidAt, t.TakenFen, "收入", "")
		}
		for _, refund := range t.Refunds {
			add(&t, refund.At, -refund.AmountFen, "支出", refund.Request)
		}
	}
	return r.reply(rows), nil
}

func (s *Simulator) format(at time.Time) string { return at.In(s.zone).Format(timeFormat) }

// formatSigned is shop.FormatFen for an amount that may be negative.
func formatSigned(fen int64) string {
	if fen < 0 {
		return "-" + shop.FormatFen(-fen)
	}
	return shop.FormatFen(fen)
}
