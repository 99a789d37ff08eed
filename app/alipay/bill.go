package alipay

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/smartwalle/alipay/v3"
	"golang.org/x/text/encoding/simplifiedchinese"

	"stampede/app/payment"
	"stampede/app/shop"
)

const (
	// maxBill limits a bill, packed and unpacked, in bytes. A row has about 300 bytes.
	maxBill = 256 << 20
	noBill  = "isp.bill_not_exist"
)

// billColumns are the columns of the table of a bill that are read.
var billColumns = []string{
	"支付宝交易号", "商户订单号", "业务类型", "创建时间", "完成时间", "订单金额（元）", "商家实收（元）",
	"退款批次号/请求号", "备注",
}

// billTotals matches the last lines of a bill: the number and the sum of its trades (交易) or refunds (退款).
var billTotals = regexp.MustCompile(`^#(交易|退款)合计：(\d+)笔，商家实收(?:退款)?共(-?[\d.]+)元`)

// Bill implements payment.Lister. The address of the file is valid for 30 s.
func (a *Alipay) Bill(ctx context.Context, day string) ([]payment.ListedTrade, []payment.ListedRefund, error) {
	request := alipay.BillDownloadURLQuery{BillType: "trade", BillDate: day}
	var reply struct {
		head
		Address string `json:"bill_download_url"`
	}
	err := a.call(ctx, request, &reply)
	if isRejection(err, noBill) {
		return nil, nil, fmt.Errorf("%w: %s", payment.ErrNoBill, day)
	}
	if err != nil {
		return nil, nil, listError(err)
	}
	file, err := a.download(ctx, reply.Address)
	if err != nil {
		return nil, nil, errUnknown(request.APIName(), fmt.Errorf("download the bill of %s: %w", day, err))
	}
	table, err := unpackBill(file)
	if err != nil {
		return nil, nil, errUnknown(request.APIName(), fmt.Errorf("unpack the bill of %s: %w", day, err))
	}
	b := bill{received: make(map[string]int64)}
	if err := b.read(table); err != nil {
		return nil, nil, errUnknown(request.APIName(), fmt.Errorf("read the bill of %s: %w", day, err))
	}
	return b.trades, b.refunds, nil
}

func (a *Alipay) download(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := a.files.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	return readLimited(response.Body)
}

// unpackBill returns the table of the trades, in UTF-8. The file also contains a summary, which has another header.
func unpackBill(file []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return "", err
	}
	for _, entry := range archive.File {
		r, err := entry.Open()
		if err != nil {
			return "", err
		}
		text, err := readLimited(simplifiedchinese.GB18030.NewDecoder().Reader(r))
		_ = r.Close()
		if err != nil {
			return "", err
		}
		if strings.Contains(string(text), billColumns[1]) {
			return string(text), nil
		}
	}
	return "", errors.New("the file contains no table of trades")
}

func readLimited(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBill+1))
	if err == nil && len(text) > maxBill {
		err = fmt.Errorf("more than %d bytes", maxBill)
	}
	return text, err
}

// bill collects the rows of a bill.
type bill struct {
	trades   []payment.ListedTrade
	refunds  []payment.ListedRefund
	received map[string]int64 // sum of the money that the shop received or returned, by kind
}

// read reads the table of a bill. Lines that begin with # are comments; the last ones contain totals, which must agree
// with the rows.
func (b *bill) read(text string) error {
	var table strings.Builder
	totals := make(map[string]string)
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			table.WriteString(line)
		} else if m := billTotals.FindStringSubmatch(line); m != nil {
			totals[m[1]] = m[2] + " " + strings.TrimPrefix(m[3], "-")
		}
	}
	r := csv.NewReader(strings.NewReader(table.String()))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	header, err := r.Read()
	if err != nil {
		return err
	}
	at := make(map[string]int)
	for i, name := range header {
		at[strings.NewReplacer("(", "（", ")", "）").Replace(strings.TrimSpace(name))] = i
	}
	for _, name := range billColumns {
		if _, ok := at[name]; !ok {
			return fmt.Errorf("the column %s is missing", name)
		}
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return b.checkTotals(totals)
		}
		if err == nil {
			err = b.addRow(func(column string) string {
				if i := at[column]; i < len(cells) {
					return strings.TrimSpace(cells[i])
				}
				return ""
			})
		}
		if err != nil {
			return err
		}
	}
}

func (b *bill) addRow(cell func(column string) string) error {
	amount, err := shop.ParseFen(trimSign(cell("订单金额（元）")))
	received, receivedErr := shop.ParseFen(trimSign(cell("商家实收（元）")))
	if err := errors.Join(err, receivedErr); err != nil {
		return fmt.Errorf("trade %s: %w", cell("支付宝交易号"), err)
	}
	b.received[cell("业务类型")] += received
	order, no, done := orderOf(cell("商户订单号")), cell("支付宝交易号"), parseTime(cell("完成时间"))
	switch kind := cell("业务类型"); kind {
	case "交易":
		b.trades = append(b.trades, payment.ListedTrade{
			Order: order, No: no, Mark: payment.ParseMark(cell("备注")), AmountFen: amount,
			CreatedAt: parseTime(cell("创建时间")), PaidAt: done,
		})
	case "退款":
		b.refunds = append(b.refunds, payment.ListedRefund{
			Order: order, No: no, Request: cell("退款批次号/请求号"), AmountFen: amount, At: done,
		})
	default:
		return fmt.Errorf("trade %s has the unknown kind %q", no, kind)
	}
	return nil
}

// checkTotals compares the rows with the totals of the bill, to detect a truncated or changed file.
func (b *bill) checkTotals(totals map[string]string) error {
	for kind, rows := range map[string]int{"交易": len(b.trades), "退款": len(b.refunds)} {
		if sum := strconv.Itoa(rows) + " " + shop.FormatFen(b.received[kind]); totals[kind] != sum {
			return fmt.Errorf("%s: number and sum of the rows are %q, and the total is %q", kind, sum, totals[kind])
		}
	}
	return nil
}
