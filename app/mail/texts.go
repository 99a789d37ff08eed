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

// Maximum lengths, in characters, of user input and of links, which the shop makes.
const (
	maxName    = 40
	maxProduct = 100
	maxLink    = 1000
)

// clean returns one line of plain characters: without line breaks, so that no header or line can be added, and without
// characters that change the text direction.
func clean(s string, most int) string {
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
	return string(runes[:min(len(runes), most)])
}

const signature = "\n-- \nStampede\n"

// The e-mails before activation use no name: a stranger can enter any name and any address, and the shop must send only
// its own words to strangers.
var english = map[outbox.EmailKind]text{
	outbox.EmailActivate: {"Confirm your e-mail address", "Hello,\n\n" +
		"somebody, probably you, has registered at Stampede with this e-mail address.\n" +
		"Open this link and enter your password to activate the account:\n\n{link}\n\n" +
		"It works once, for a limited time. If it was not you, do nothing, or open the link\nto delete the account.\n" + signature},
	outbox.EmailTaken: {"You have an account already", "Hello,\n\n" +
		"somebody, probably you, wanted to register at Stampede with this e-mail address.\n" +
		"It has an account already, so nothing was changed. Log in with your password, or choose\n" +
		"\"forgotten password\" there to set a new one.\n\n{link, if any}If it was not you, there is nothing to do.\n" + signature},
	outbox.EmailReset: {"Set a new password", "Hello{ name},\n\n" +
		"open this link to set a new password for your account at Stampede:\n\n{link}\n\n" +
		"It works once, for a limited time, and logs you out on all devices. If you did not ask\nfor it, do nothing: " +
		"your password stays as it is.\n" + signature},
	outbox.EmailPaid: {"Your order {order} is paid", "Hello{ name},\n\n" +
		"thank you, your order is paid.\n\n" + englishOrder + signature},
	outbox.EmailRefunded: {"The money for order {order} was given back", "Hello{ name},\n\n" +
		"the money for your order was given back, the way it was paid.\n\n" + englishOrder + signature},
	outbox.EmailShipped: {"Your order {order} is on its way", "Hello{ name},\n\n" +
		"your order was sent.\n\n" + englishOrder + "  Carrier  {carrier}\n  Number   {tracking}\n\n" +
		"Please confirm in your orders that it has come.\n" + signature},
}

var chinese = map[outbox.EmailKind]text{
	outbox.EmailActivate: {"请确认您的邮箱地址", "您好：\n\n" +
		"有人（应该是您）使用此邮箱在 Stampede 注册了账号。\n请打开以下链接并输入密码，激活账号：\n\n{link}\n\n" +
		"链接仅可使用一次，且有时间限制。如果不是您本人操作，请忽略此邮件，\n或打开链接删除该账号。\n" + signature},
	outbox.EmailTaken: {"您已有账号", "您好：\n\n" +
		"有人（应该是您）想用此邮箱在 Stampede 注册。\n该邮箱已有账号，因此没有任何改动。请直接登录，\n" +
		"或在登录页选择“忘记密码”来设置新密码。\n\n{link, if any}如果不是您本人操作，无需理会。\n" + signature},
	outbox.EmailReset: {"设置新密码", "您好{ name}：\n\n" +
		"请打开以下链接，为您的 Stampede 账号设置新密码：\n\n{link}\n\n" +
		"链接仅可使用一次，且有时间限制；设置后所有设备都会退出登录。\n如果不是您本人操作，请忽略此邮件，密码不会改变。\n" + signature},
	outbox.EmailPaid: {"订单 {order} 已付款", "您好{ name}：\n\n感谢购买，您的订单已付款。\n\n" + chineseOrder + signature},
	outbox.EmailRefunded: {"订单 {order} 已退款", "您好{ name}：\n\n" +
		"您的订单已按原付款方式退款。\n\n" + chineseOrder + signature},
	outbox.EmailShipped: {"订单 {order} 已发货", "您好{ name}：\n\n" +
		"您的订单已发货。\n\n" + chineseOrder + "  承运商  {carrier}\n  运单号  {tracking}\n\n" +
		"收到后请在“我的订单”中确认收货。\n" + signature},
}

const (
	englishOrder = "  Order    {order}\n  Product  {product}\n  Units    {qty}\n  Amount   {amount}\n"
	chineseOrder = "  订单号  {order}\n  商品    {product}\n  数量    {qty}\n  金额    {amount}\n"
)
