package sim

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"stampede/app/shop"
)

// billValid is how long the address of a bill is valid.
const billValid = 30 * time.Second

// billAt is when the bill of a day appears on the next day.
const billAt = 9 * time.Hour

// bills has the addresses of bills.
type bills struct {
	mu    sync.Mutex
	files map[string]billAddress
}

type billAddress struct {
	day     time.Time
	expires time.Time
}

// bill returns the address of the bill of a day.
func (s *Simulator) bill(q request, base string) (fields, *rejection) {
	day, err := time.ParseInLocation(time.DateOnly, q.content.BillDate, s.zone)
	switch {
	case err != nil:
		return nil, &rejection{"40004", "invalid_arguments"}
	case s.now().Before(day.AddDate(0, 0, 1).Add(billAt)):
		return nil, &rejection{"40004", "isp.bill_not_exist"}
	}
	token := rand.Text()
	s.bills.mu.Lock()
	defer s.bills.mu.Unlock()
	if s.bills.files == nil {
		s.bills.files = make(map[string]billAddress)
	}
	s.bills.files[token] = billAddress{day, s.now().Add(billValid)}
	return fields{"code": "10000", "msg": "Success", "bill_download_url": base + "/bill/" + token}, nil
}

// billFile sends the bill: a ZIP file with two tables in GBK, the trades and their sums.
func (s *Simulator) billFile(w http.ResponseWriter, r *http.Request) {
	s.bills.mu.Lock()
	address, known := s.bills.files[r.PathValue("token")]
	s.bills.mu.Unlock()
	if !known || s.now().After(address.expires) {
		http.NotFound(w, r)
		return
	}
	file, err := s.packBill(address.day)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/zip")
	_, _ = w.Write(file)
}

const billHeader = "支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）," +
	"支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注"

func (s *Simulator) packBill(day time.Time) ([]byte, error) {
	until := day.AddDate(0, 0, 1)
	onDay := func(at time.Time) bool { return !at.Before(day) && at.Before(until) }
	var rows strings.Builder
	counts, sums := make(map[string]int), make(map[string]int64)
	add := func(t *Trade, kind string, at time.Time, fen int64, request string) {
		if !onDay(at) {
			return
		}
		counts[kind]++
		sums[kind] += fen
		fmt.Fprintf(&rows, "%s\t,%s\t,%s,%s,%s,%s,,,,,buy***@example.com,%s,%[7]s,0.00,0.00,0.00,0.00,0.00,,0.00,0.00,%[8]s,-0.01,0.00,%[9]s\r\n",
			t.No, t.Order, kind, t.Subject, s.format(t.CreatedAt), s.format(at), formatSigned(fen), request, t.Body)
	}
	for _, t := range s.Ledger().Trades {
		if t.TakenFen > 0 {
			add(&t, "交易", t.PaidAt, t.TakenFen, "")
		}
		for _, refund := range t.Refunds {
			add(&t, "退款", refund.At, -refund.AmountFen, refund.Request)
		}
	}
	details := fmt.Sprintf("#支付宝业务明细查询\r\n#账号：[%s]\r\n#----业务明细列表----\r\n%s\r\n%s#----业务明细列表结束----\r\n"+
		"#交易合计：%d笔，商家实收共%s元，商家优惠共0.00元\r\n#退款合计：%d笔，商家实收退款共%s元，商家优惠退款共0.00元\r\n",
		s.keys.SellerID, billHeader, rows.String(), counts["交易"], shop.FormatFen(sums["交易"]), counts["退款"],
		formatSigned(sums["退款"]))
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for name, text := range map[string]string{"业务明细.csv": details, "业务明细(汇总).csv": "#支付宝业务汇总查询\r\n"} {
		gbkName, err := simplifiedchinese.GBK.NewEncoder().String(name)
		if err != nil {
			return nil, err
		}
		content, err := simplifiedchinese.GBK.NewEncoder().String(text)
		if err != nil {
			return nil, err
		}
		entry, err := archive.CreateHeader(&zip.FileHeader{Name: gbkName, NonUTF8: true, Method: zip.Deflate})
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write([]byte(content)); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return file.Bytes(), err
}
