package main

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"stampede/app/backoffice"
)

type textCmd struct {
	List textList `cmd:"" help:"List the texts."`
	Set  textSet  `cmd:"" help:"Set a text from a file."`
}

type (
	textList struct{ readFlags }
	textSet  struct {
		Name string `arg:"" enum:"contact,terms,privacy" help:"contact, terms or privacy."`
		File string `arg:"" help:"Plain text in UTF-8, at most 20,000 characters; - is standard input."`
		Lang string `required:"" enum:"en,zh" help:"Language of the text: en or zh."`
		operationFlags
	}
)

func (textCmd) Help() string {
	return "The footer of the page offers each text that is set, in the language of the shopper or else in the other " +
		"language. Texts are plain text; empty lines separate paragraphs. An empty file removes a text. Shoppers see " +
		"the change when they open the page again, after about a minute.\n\nExamples:\n\n" +
		"    stampede text set terms terms.txt --lang en\n" +
		"    echo '客服电话：400-000-0000' | stampede text set contact - --lang zh\n" +
		"    stampede text list"
}

func (c textList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		texts, err := api.texts()
		return list(e, c.JSON, err, texts, listing[backoffice.PageText]{
			head: "name\tlang\tversion\tcharacters",
			columns: func(t backoffice.PageText) []any {
				return []any{t.Name, t.Lang, t.Version, utf8.RuneCountInString(t.Text)}
			},
		})
	})
}

func (c *textSet) Run(e *env) error {
	content, err := e.file(c.File)
	if err != nil {
		return err
	}
	return e.operate(c.operationFlags, func(api *client) error {
		t := backoffice.PageText{Name: c.Name, Lang: c.Lang}
		texts, err := api.texts()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(texts, func(t backoffice.PageText) bool { return t.Name == c.Name && t.Lang == c.Lang })
		if i < 0 {
			return fmt.Errorf("the server has no text %s in the language %s: its version differs from this program's",
				c.Name, c.Lang)
		}
		t.Version, t.Text = texts[i].Version, string(content)
		err = api.change(http.MethodPut, "/texts", t, &t)
		return e.result(c.JSON, err, t, "set %s (%s), %d characters", t.Name, t.Lang, utf8.RuneCountInString(t.Text))
	})
}

// texts reads the texts of the page.
func (c *client) texts() ([]backoffice.PageText, error) {
	texts, _, err := page[backoffice.PageText](c, collection{"/texts", "texts"}, nil)
	return texts, err
}
