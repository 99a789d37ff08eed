package mail

import (
	"fmt"
	"strings"
	"unicode"

	"stampede/app"
)

// text is an e-mail in one language. Its functions get what a person typed already cleaned.
type text struct {
	subject func(f facts) string
	body    func(f facts) string
}

// facts are what texts are made of.
type facts struct {
	name, link, order, product, amount string
	qty                                int
	carrier, tracking                  string
}

// compose answers subject and body of an e-mail. What it knows no words for is refused.
func compose(l *app.Email) (subject, body string, err error) {
	texts := english
	if l.Lang == "zh" {
		texts = chinese
	}
	t, ok := texts[l.Kind]
	switch {
	case !ok:
		return "", "", fmt.Errorf("%w: no text for the kind %.20q", app.ErrRejected, l.Kind)
	case (l.Kind == app.EmailActivate || l.Kind == app.EmailReset) && l.Link == "":
		return "", "", fmt.Errorf("%w: an e-mail of kind %s without a link", app.ErrRejected, l.Kind)
	case isAboutOrder(l.Kind) && l.Order == nil:
		return "", "", fmt.Errorf("%w: an e-mail of kind %s without an order", app.ErrRejected, l.Kind)
	}
	f := facts{name: clean(l.Name, longestName), link: clean(l.Link, longestLink)}
	if o := l.Order; o != nil {
		f.order, f.product, f.qty = o.ID.String(), clean(o.ProductName, longestProduct), o.Qty
		f.amount = fmt.Sprintf("¥%d.%02d", o.AmountFen/100, o.AmountFen%100)
		f.carrier, f.tracking = clean(o.Carrier, longestName), clean(o.Tracking, longestName)
	}
	return t.subject(f), t.body(f), nil
}

func isAboutOrder(k app.EmailKind) bool {
	return k == app.EmailPaid || k == app.EmailRefunded || k == app.EmailShipped
}

// Characters that are shown of what people typed, and of a link, which is ours.
const (
	longestName    = 40
	longestProduct = 100
	longestLink    = 1000
)

// clean makes one line of plain characters: no line breaks, so that no header and no line of text can be added, and
// nothing that turns the direction of what follows.
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

// signature ends every e-mail.
const signature = "\n-- \nStampede\n"

// said is a subject that says the same for everybody.
func said(s string) func(facts) string { return func(facts) string { return s } }

// The e-mails before an account is active greet nobody by name: anybody can type any name, and any e-mail, and what
// this shop writes to strangers must be its own words.
var english = map[app.EmailKind]text{
	app.EmailActivate: {said("Confirm your e-mail address"), func(f facts) string {
		return "Hello,\n\nsomebody, probably you, has registered at Stampede with this e-mail address.\n" +
			"Open this link to activate the account:\n\n" + f.link + "\n\n" +
			"It works once, for a limited time. If it was not you, do nothing: without the link\nthere is no account.\n" + signature
	}},
	app.EmailTaken: {said("You have an account already"), func(f facts) string {
		return "Hello,\n\nsomebody, probably you, wanted to register at Stampede with this e-mail address.\n" +
			"It has an account already, so nothing was changed. Log in with your password, or choose\n" +
			"\"forgotten password\" there to set a new one.\n\n" + where(f) +
			"If it was not you, there is nothing to do.\n" + signature
	}},
	app.EmailReset: {said("Set a new password"), func(f facts) string {
		return greet("Hello", f) + ",\n\nopen this link to set a new password for your account at Stampede:\n\n" + f.link + "\n\n" +
			"It works once, for a limited time, and logs you out on all devices. If you did not ask\nfor it, do nothing: " +
			"your password stays as it is.\n" + signature
	}},
	app.EmailPaid: {
		func(f facts) string { return "Your order " + f.order + " is paid" },
		func(f facts) string {
			return greet("Hello", f) + ",\n\nthank you, your order is paid.\n\n" + englishOrder(f) + signature
		},
	},
	app.EmailRefunded: {
		func(f facts) string { return "The money for order " + f.order + " was given back" },
		func(f facts) string {
			return greet("Hello", f) + ",\n\nthe money for your order was given back, the way it was paid.\n\n" +
				englishOrder(f) + signature
		},
	},
	app.EmailShipped: {
		func(f facts) string { return "Your order " + f.order + " is on its way" },
		func(f facts) string {
			return greet("Hello", f) + ",\n\nyour order was sent.\n\n" + englishOrder(f) +
				"  Carrier  " + f.carrier + "\n  Number   " + f.tracking + "\n\n" +
				"Please confirm in your orders that it has come.\n" + signature
		},
	},
}

var chinese = map[app.EmailKind]text{
	app.EmailActivate: {said("请确认您的邮箱地址"), func(f facts) string {
		return "您好：\n\n有人（应该是您）使用此邮箱在 Stampede 注册了账号。\n请打开以下链接激活账号：\n\n" + f.link + "\n\n" +
			"链接仅可使用一次，且有时间限制。如果不是您本人操作，请忽略此邮件：\n不打开链接，账号就不会生效。\n" + signature
	}},
	app.EmailTaken: {said("您已有账号"), func(f facts) string {
		return "您好：\n\n有人（应该是您）想用此邮箱在 Stampede 注册。\n该邮箱已有账号，因此没有任何改动。" +
			"请直接登录，\n或在登录页选择“忘记密码”来设置新密码。\n\n" + where(f) + "如果不是您本人操作，无需理会。\n" + signature
	}},
	app.EmailReset: {said("设置新密码"), func(f facts) string {
		return greet("您好", f) + "：\n\n请打开以下链接，为您的 Stampede 账号设置新密码：\n\n" + f.link + "\n\n" +
			"链接仅可使用一次，且有时间限制；设置后所有设备都会退出登录。\n如果不是您本人操作，请忽略此邮件，密码不会改变。\n" + signature
	}},
	app.EmailPaid: {
		func(f facts) string { return "订单 " + f.order + " 已付款" },
		func(f facts) string {
			return greet("您好", f) + "：\n\n感谢购买，您的订单已付款。\n\n" + chineseOrder(f) + signature
		},
	},
	app.EmailRefunded: {
		func(f facts) string { return "订单 " + f.order + " 已退款" },
		func(f facts) string {
			return greet("您好", f) + "：\n\n您的订单已按原付款方式退款。\n\n" + chineseOrder(f) + signature
		},
	},
	app.EmailShipped: {
		func(f facts) string { return "订单 " + f.order + " 已发货" },
		func(f facts) string {
			return greet("您好", f) + "：\n\n您的订单已发货。\n\n" + chineseOrder(f) +
				"  承运商  " + f.carrier + "\n  运单号  " + f.tracking + "\n\n" +
				"收到后请在“我的订单”中确认收货。\n" + signature
		},
	},
}

// where is a line with the link, if there is one.
func where(f facts) string {
	if f.link == "" {
		return ""
	}
	return f.link + "\n\n"
}

func greet(hello string, f facts) string {
	if f.name == "" {
		return hello
	}
	return hello + " " + f.name
}

func englishOrder(f facts) string {
	return fmt.Sprintf("  Order    %s\n  Product  %s\n  Units    %d\n  Amount   %s\n", f.order, f.product, f.qty, f.amount)
}

func chineseOrder(f facts) string {
	return fmt.Sprintf("  订单号  %s\n  商品    %s\n  数量    %d\n  金额    %s\n", f.order, f.product, f.qty, f.amount)
}
