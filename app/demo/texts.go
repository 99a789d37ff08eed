package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"stampede/app/backoffice"
)

// sampleTexts are the texts in the footer of the demo.
var sampleTexts = []backoffice.PageText{
	{Name: "contact", Lang: "en", Text: "This is a demo shop. Messages are not read.\n\n" +
		"Write your real contact here: e-mail, telephone, opening hours and address. The console edits this text."},
	{Name: "contact", Lang: "zh", Text: "这是演示商城，没有客服。\n\n请在后台填写真实的联系方式：邮箱、电话、服务时间和地址。"},
	{Name: "terms", Lang: "en", Text: "This is a demo shop. Nothing is sold, no real money moves and nothing is shipped.\n\n" +
		"Write your real terms of sale here: contract, prices, delivery, returns and warranty."},
	{Name: "terms", Lang: "zh", Text: "这是演示商城：不销售商品，不产生真实扣款，也不发货。\n\n请在此填写真实的服务条款：合同、价格、配送、退货和保修。"},
	{Name: "privacy", Lang: "en", Text: "This is a demo shop. It stores what you enter on the computer that runs it, " +
		"and sends it to no one else.\n\nWrite your real privacy notice here: which data you store, why and for how long."},
	{Name: "privacy", Lang: "zh", Text: "这是演示商城：您填写的内容只保存在运行演示的电脑上，不会发送给他人。\n\n" +
		"请在此填写真实的隐私政策：保存哪些数据、用途和期限。"},
}

// Texts adds the sample texts that were never set.
func (s *Seeder) Texts(ctx context.Context) error {
	for _, t := range sampleTexts {
		name := backoffice.TextDocument(t.Name, t.Lang)
		existing, err := s.Store.Settings().Documents(ctx, name)
		if err != nil {
			return fmt.Errorf("look for the document %s: %w", name, err)
		}
		if existing[name].Version > 0 {
			continue
		}
		body, err := json.Marshal(t)
		if err == nil {
			err = s.Store.Settings().SaveDocument(ctx, name, 0, string(body))
		}
		if err != nil {
			return fmt.Errorf("add the document %s: %w", name, err)
		}
	}
	return nil
}
