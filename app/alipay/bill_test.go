package alipay

import (
	"strings"
	"testing"
)

// A bill whose rows and totals differ is rejected: it was truncated, or has another format than this program reads.
func TestIncompleteBillsAreRejected(t *testing.T) {
	t.Parallel()
	header := strings.Join(billColumns, ",")
	row := "2026112822001\t,101\t,交易,2026-11-28 10:00:00,2026-11-28 10:01:00,198.01,198.01,,stampede 5f3a 7 9 2\r\n"
	refund := "2026112822001\t,101\t,退款,2026-11-28 10:00:00,2026-11-28 11:00:00,-3.01,-3.01,R101,\r\n"
	totals := "#交易合计：1笔，商家实收共198.01元，商家优惠共0.00元\r\n#退款合计：1笔，商家实收退款共-3.01元，商家优惠退款共0.00元\r\n"
	for name, c := range map[string]struct {
		text string
		ok   bool
	}{
		"complete":             {"#支付宝业务明细查询\r\n" + header + "\r\n" + row + refund + totals, true},
		"ASCII brackets":       {strings.NewReplacer("（", "(", "）", ")").Replace(header) + "\r\n" + row + refund + totals, true},
		"a row is missing":     {header + "\r\n" + refund + totals, false},
		"no totals":            {header + "\r\n" + row + refund, false},
		"another sum":          {header + "\r\n" + strings.Replace(row, "198.01,198.01", "198.01,198.02", 1) + refund + totals, false},
		"a column is missing":  {strings.Replace(header, ",备注", "", 1) + "\r\n" + row + refund + totals, false},
		"an unknown kind":      {header + "\r\n" + strings.Replace(row, "交易", "转账", 1) + refund + totals, false},
		"an unreadable amount": {header + "\r\n" + strings.Replace(row, "198.01,198.01", "198.01,?", 1) + refund + totals, false},
	} {
		b := bill{received: make(map[string]int64)}
		if err := b.read(c.text); (err == nil) != c.ok {
			t.Errorf("%s: got %v, want accepted %v", name, err, c.ok)
		}
	}
}
