package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// text is a comment or a message, or, if name is set, a declared identifier.
type text struct {
	line int
	text string
	name bool
}

// textsOf returns the comments, messages and declared names of a file; of a document, all lines outside code.
func textsOf(path string, src []byte) ([]text, error) {
	switch filepath.Ext(path) {
	case ".go":
		return goTexts(src)
	case ".md":
		return proseTexts(string(src)), nil
	case ".yaml", ".yml":
		return yamlTexts(string(src)), nil
	case ".ts", ".vue", ".js", ".mjs", ".css":
		return commentTexts(string(src), tsComment), nil
	case ".lua", ".sql":
		return commentTexts(string(src), luaComment), nil
	case ".sh", ".conf", ".cnf", ".service", ".edit", "":
		return commentTexts(string(src), shellComment), nil
	}
	return nil, nil
}

var (
	tsComment    = regexp.MustCompile(`(?:^|\s)(?://|/?\*|<!--)(.*)`)
	luaComment   = regexp.MustCompile(`--(.*)`)
	shellComment = regexp.MustCompile(`(?:^|\s)#\s(.*)`)
	yamlNames    = regexp.MustCompile(`[\w{}/.-]+:( |$)|\[[^\]]*\]|"#/[^"]*"`)
)

func commentTexts(src string, comment *regexp.Regexp) (out []text) {
	for i, line := range strings.Split(src, "\n") {
		if m := comment.FindStringSubmatch(line); m != nil {
			out = append(out, text{i + 1, m[1], false})
		}
	}
	return out
}

// proseTexts leaves out fenced and inline code.
func proseTexts(src string) (out []text) {
	fenced := false
	for i, line := range strings.Split(src, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			out = append(out, text{i + 1, line, false})
		}
	}
	return out
}

// yamlTexts leaves out keys, references and lists of values.
func yamlTexts(src string) (out []text) {
	for i, line := range strings.Split(src, "\n") {
		out = append(out, text{i + 1, yamlNames.ReplaceAllString(line, " "), false})
	}
	return out
}

func goTexts(src []byte) ([]text, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []text
	add := func(at token.Pos, s string, name bool) {
		first := files.Position(at).Line
		for i, line := range strings.Split(s, "\n") {
			out = append(out, text{first + i, line, name})
		}
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			add(c.Pos(), c.Text, false)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			// A message has words; keys, statements of one word and formats have none.
			if s, err := strconv.Unquote(n.Value); err == nil && strings.Contains(strings.TrimSpace(s), " ") {
				add(n.Pos(), s, false)
			}
		case *ast.FuncDecl:
			add(n.Name.Pos(), n.Name.Name, true)
		case *ast.TypeSpec:
			add(n.Name.Pos(), n.Name.Name, true)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name.Pos(), name.Name, true)
			}
		case *ast.Field:
			for _, name := range n.Names {
				add(name.Pos(), name.Name, true)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if name, is := e.(*ast.Ident); is {
						add(name.Pos(), name.Name, true)
					}
				}
			}
		}
		return true
	})
	return out, nil
}

var humps = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// wordsOf splits an identifier at its capitals.
func wordsOf(name string) []string {
	words := humps.FindAllString(name, -1)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	return words
}
