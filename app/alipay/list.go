package alipay

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/smartwalle/alipay/v3"

	"stampede/app/payment"
	"stampede/app/shop"
)

// listPage is the number of rows of a page; the gateway accepts 1,000 to 2,000. A page must fit into maxReply.
const listPage = 1000

// sellQuery lists sold trades (alipay.data.bill.sell.query), which the library does not have. Its fields are those of
// the gateway's own SDK (alipay-sdk-java, class AlipayDataBillSellQueryModel).
type sellQuery struct {
	alipay.AuxParam
	StartTime string `json:"start_time"`
	EndTime   string `json:"end_time"`
	PageNo    string `json:"page_no"`
	PageSize  string `json:"page_size"`
}

// APIName implements alipay.Param.
func (sellQuery) APIName() string { return "alipay.data.bill.sell.query" }

// Params implements alipay.Param.
func (sellQuery) Params() map[string]string { return nil }

// SoldTrades implements payment.Lister.
func (a *Alipay) SoldTrades(
	ctx context.Context, from, to shop.Millis, page int,
) (trades []payment.ListedTrade, more bool, err error) {
	request := sellQuery{
		StartTime: formatTime(from), EndTime: formatTime(to),
		PageNo: strconv.Itoa(page), PageSize: strconv.Itoa(listPage),
	}
	var reply struct {
		head
		TotalSize  string `json:"total_size"`
		DetailList []struct {
			AlipayOrderNo   string `json:"alipay_order_no"`
			MerchantOrderNo string `json:"merchant_order_no"`
			GoodsMemo       string `json:"goods_memo"`
			TotalAmount     string `json:"total_amount"`
			RefundAmount    string `json:"refund_amount"`
			GmtCreate       string `json:"gmt_create"`
			GmtPay          string `json:"gmt_pay"`
		} `json:"detail_list"`
	}
	if err := a.call(ctx, request, &reply); err != nil {
		return nil, false, listError(err)
	}
	for _, row := range reply.DetailList {
		t := payment.ListedTrade{
			Order: orderOf(row.MerchantOrderNo), No: row.AlipayOrderNo, Mark: payment.ParseMark(row.GoodsMemo),
			CreatedAt: parseTime(row.GmtCreate), PaidAt: parseTime(row.GmtPay),
		}
		var amountErr, refundErr error
		t.AmountFen, amountErr = shop.ParseFen(row.TotalAmount)
		if row.RefundAmount != "" {
			t.RefundedFen, refundErr = shop.ParseFen(row.RefundAmount)
		}
		if err := errors.Join(amountErr, refundErr); err != nil && t.Mark.Shop != "" {
			return nil, false, errUnknown(request.APIName(), fmt.Errorf("the trade %s: %w", t.No, err))
		}
		trades = append(trades, t)
	}
	more, err = hasMore(request, page, reply.TotalSize)
	return trades, more, err
}

// RefundLog implements payment.Lister.
func (a *Alipay) RefundLog(
	ctx context.Context, from, to shop.Millis, page int,
) (refunds []payment.ListedRefund, more bool, err error) {
	request := alipay.BillAccountLogQuery{
		StartTime: formatTime(from), EndTime: formatTime(to),
		PageNo: strconv.Itoa(page), PageSize: strconv.Itoa(listPage),
	}
	var reply struct {
		head
		TotalSize  string `json:"total_size"`
		DetailList []struct {
			TransDt             string `json:"trans_dt"`
			AlipayOrderNo       string `json:"alipay_order_no"`
			MerchantOrderNo     string `json:"merchant_order_no"`
			MerchantOutRefundNo string `json:"merchant_out_refund_no"`
			TransAmount         string `json:"trans_amount"`
		} `json:"detail_list"`
	}
	if err := a.call(ctx, request, &reply); err != nil {
		return nil, false, listError(err)
	}
	for _, row := range reply.DetailList {
		if row.MerchantOutRefundNo == "" { // not a refund
			continue
		}
		amount, err := shop.ParseFen(trimSign(row.TransAmount))
		if err != nil {
			return nil, false, errUnknown(request.APIName(), fmt.Errorf("the refund %q: %w", row.MerchantOutRefundNo, err))
		}
		refunds = append(refunds, payment.ListedRefund{
			Order: orderOf(row.MerchantOrderNo), No: row.AlipayOrderNo, Request: row.MerchantOutRefundNo,
			AmountFen: amount, At: parseTime(row.TransDt),
		})
	}
	more, err = hasMore(request, page, reply.TotalSize)
	return refunds, more, err
}

// hasMore reports whether another page follows.
func hasMore(request alipay.Param, page int, total string) (bool, error) {
	n, err := strconv.Atoi(total)
	if err != nil {
		return false, errUnknown(request.APIName(), fmt.Errorf("total_size is %q", total))
	}
	return page*listPage < n, nil
}

// listError returns the error of a list: payment.ErrNotPermitted if the account lacks a permission.
func listError(err error) error {
	if signed, ok := errors.AsType[*businessError](err); ok && signed.reply.Code == alipay.CodePermissionDenied {
		return fmt.Errorf("%w: %w", payment.ErrNotPermitted, err)
	}
	return err
}

// orderOf returns the order of a merchant's number; 0: it is not an order of this program.
func orderOf(number string) shop.ID {
	id, err := shop.ParseID(number)
	if err != nil {
		return 0
	}
	return id
}

// trimSign removes the sign of an amount: expenses are negative.
func trimSign(amount string) string {
	if amount != "" && amount[0] == '-' {
		return amount[1:]
	}
	return amount
}
