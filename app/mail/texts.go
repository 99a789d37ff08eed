package mail

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"stampede/app/outbox"
)

// text is an e-mail in one language. compose replaces its {words} with cleaned user input.
type text struct{ subject, body string }

// compose returns the subject and body of an e-mail. Kinds without texts are rejected.
func compose(l *outbox.Email) (subject, body string, err error) {
	texts := english
	if l.Lang == "zh" {
		texts = chinese
	}
	t, ok := texts[l.Kind]
	switch {
	case !ok:
		return "", "", fmt.Errorf("%w: no text for the kind %.20q", outbox.ErrRejected, l.Kind)
	case (l.Kind == outbox.EmailActivate || l.Kind == outbox.EmailReset) && l.Link == "":
		return "", "", fmt.Errorf("%w: an e-mail of kind %s without a link", outbox.ErrRejected, l.Kind)
	case isAboutOrder(l.Kind) && l.Order == nil:
		return "", "", fmt.Errorf("%w: an e-mail of kind %s without an order", outbox.ErrRejected, l.Kind)
	}
	name, link := clean(l.Name, maxName), clean(l.Link, maxLink)
	words := []string{"{ name}", "", "{link}", link, "{link, if any}", ""}
	if name != "" {
		words[1] = " " + name
	}
	if link != "" {
		words[5] = link + "\n\n"
	}
	if o := l.Order; o != nil {
		words = append(words, "{order}", o.ID.String(), "{product}", clean(o.ProductName, maxProduct),
			"{qty}", strconv.Itoa(o.Qty), "{amount}", fmt.Sprintf("¥%d.%02d", o.AmountFen/100, o.AmountFen%100),
			"{carrier}", clean(o.Carrier, maxName), "{tracking}", clean(o.Tracking, maxName))
	}
	r := strings.NewReplacer(words...) // one pass: {words} in user input stay unchanged
	return r.Replace(t.subject), r.Replace(t.body), nil
}

func isAboutOrder(k outbox.EmailKind) bool {
	return k == outbox.EmailPaid || k == outbox.EmailRefunded || k == outbox.EmailShipped
}

// Maximum lengths, in characters, of user input and of the shop's links.
const (
	maxName    = 40
	maxProduct = 100
	maxLink    = 1000
)

// clean returns s as one line of printable characters, shortened to maxLength. The result has no line breaks, so that s
// cannot add a header or a line, and no characters that change the text direction.
func clean(s string, maxLength int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	runes := []rune(strings.Join(strings.Fields(s), " "))
	return string(runes[:min(len(runes), maxLength)])
}

const signature = "\n-- \nStampede\n"

// english has the texts by kind. The e-mails before activation contain no name: a stranger can enter any name and any
// address, so the shop must send only its own words to an address that is not verified.
var english = map[outbox.EmailKind]text{
	outbox.EmailActivate: {"Confirm your e-mail address", "Hello,\n\n" +
		"This e-mail address was used to register an account at Stampede.\n" +
		"Open this link and enter your password to activate the account:\n\n{link}\n\n" +
		"The link works once, for a limited time. If you did not register, ignore this\n" +
		"e-mail, or open the link to delete the account.\n" + signature},
	outbox.EmailTaken: {"You already have an account", "Hello,\n\n" +
		"This e-mail address was used in a registration at Stampede, but it already has\n" +
		"an account. Nothing was changed. Log in with your password, or choose\n" +
		"\"Forgot your password?\" to set a new one.\n\n{link, if any}If you did not register, ignore this e-mail.\n" + signature},
	outbox.EmailReset: {"Set a new password", "Hello{ name},\n\n" +
		"Open this link to set a new password for your account at Stampede:\n\n{link}\n\n" +
		"The link works once, for a limited time. A new password logs you out on all\ndevices. " +
		"If you did not request this e-mail, ignore it. Your password does not\nchange.\n" + signature},
	outbox.EmailPaid: {"Your order {order} is paid", "Hello{ name},\n\n" +
		"Thank you. Your order is paid.\n\n" + englishOrder + signature},
	outbox.EmailRefunded: {"Your order {order} was refunded", "Hello{ name},\n\n" +
		"Your order was refunded to your payment method.\n\n" + englishOrder + signature},
	outbox.EmailShipped: {"Your order {order} was shipped", "Hello{ name},\n\n" +
		"Your order was shipped.\n\n" + englishOrder + "  Carrier  {carrier}\n  Number   {tracking}\n\n" +
		"When you receive it, please confirm it in My orders.\n" + signature},
}

var chinese = map[outbox.EmailKind]text{
	outbox.EmailActivate: {"请确认您的邮箱地址", "您好：\n\n" +
		"此邮箱用于在 Stampede 注册账号。\n请打开以下链接并输入密码，激活账号：\n\n{link}\n\n" +
		"链接仅可使用一次，且有时间限制。如果不是您本人操作，请忽略此邮件，\n或打开链接删除该账号。\n" + signature},
	outbox.EmailTaken: {"您已有账号", "您好：\n\n" +
		"此邮箱被用于在 Stampede 注册，但该邮箱已有账号，因此没有任何改动。\n请直接登录，" +
		"或在登录页选择“忘记密码？”设置新密码。\n\n{link, if any}如果不是您本人操作，请忽略此邮件。\n" + signature},
	outbox.EmailReset: {"设置新密码", "您好{ name}：\n\n" +
		"请打开以下链接，为您的 Stampede 账号设置新密码：\n\n{link}\n\n" +
		"链接仅可使用一次，且有时间限制；设置后所有设备都会退出登录。\n如果不是您本人操作，请忽略此邮件，密码不会改变。\n" + signature},
	outbox.EmailPaid: {"订单 {order} 已支付", "您好{ name}：\n\n感谢购买，您的订单已支付。\n\n" + chineseOrder + signature},
	outbox.EmailRefunded: {"订单 {order} 已退款", "您好{ name}：\n\n" +
		"您的订单已退款，款项原路退回。\n\n" + chineseOrder + signature},
	outbox.EmailShipped: {"订单 {order} 已发货", "您好{ name}：\n\n" +
		"您的订单已发货。\n\n" + chineseOrder + "  快递公司  {carrier}\n  运单号    {tracking}\n\n" +
		"收到商品后，请在“我的订单”中确认收货。\n" + signature},
}

const (
	englishOrder = "  Order    {order}\n  Product  {product}\n  Units    {qty}\n  Amount   {amount}\n"
	chineseOrder = "  订单号  {order}\n  商品    {product}\n  数量    {qty}\n  金额    {amount}\n"
)
