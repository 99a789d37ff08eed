package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// file is a parsed source file.
type file struct {
	path    string
	test    bool
	syntax  *ast.File
	fset    *token.FileSet
	lines   []string // trimmed, without blank lines and import declarations
	numbers []int    // of lines

	total, nonBlank, comments int // lines; comments are those without code
}

func parse(name string, source []byte) (*file, error) {
	f := &file{path: name, fset: token.NewFileSet()}
	f.test = strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "app/test/")
	var err error
	if f.syntax, err = parser.ParseFile(f.fset, name, source, parser.ParseComments); err != nil {
		return nil, err
	}
	imports := map[int]bool{}
	for _, declaration := range f.syntax.Decls {
		if d, ok := declaration.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			for line := f.lineOf(d.Pos()); line <= f.lineOf(d.End()-1); line++ {
				imports[line] = true
			}
		}
	}
	for line := range strings.Lines(string(source)) {
		f.total++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f.nonBlank++
		if strings.HasPrefix(line, "//") {
			f.comments++
		}
		if !imports[f.total] {
			f.lines, f.numbers = append(f.lines, line), append(f.numbers, f.total)
		}
	}
	return f, nil
}

func (f *file) lineOf(p token.Pos) int { return f.fset.Position(p).Line }

// figures are the sums over files.
type figures struct {
	interfaces               int
	ports                    map[string]int // methods of the interfaces
	methods                  map[string]int // of the types, by package and type
	wide                     []string       // functions with more than five parameters
	packages                 map[string]int
	fileLines, functionLines []int
	exported, documented     int
	nonBlank, comments       int
}

// total leaves test code out, except for functions with many parameters.
func total(files []*file) figures {
	t := figures{packages: map[string]int{}, ports: map[string]int{}, methods: map[string]int{}}
	for _, f := range files {
		for _, declaration := range f.syntax.Decls {
			t.addDeclaration(f, declaration)
		}
		if !f.test {
			t.packages[path.Dir(f.path)]++
			t.fileLines = append(t.fileLines, f.total)
			t.nonBlank += f.nonBlank
			t.comments += f.comments
		}
	}
	return t
}

// receiverOf returns the name of the method's type.
func receiverOf(method *ast.FuncDecl) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(method.Recv.List[0].Type), "*"), "[")
	return name
}

func (t *figures) addDeclaration(f *file, declaration ast.Decl) {
	function, ok := declaration.(*ast.FuncDecl)
	if ok && function.Type.Params.NumFields() > 5 {
		t.wide = append(t.wide, fmt.Sprintf("%s:%d %s", f.path, f.lineOf(function.Pos()), function.Name.Name))
	}
	if f.test {
		return
	}
	if ok {
		t.functionLines = append(t.functionLines, f.lineOf(function.End())-f.lineOf(function.Pos())+1)
		if function.Recv != nil {
			t.methods[f.syntax.Name.Name+"."+receiverOf(function)]++
		}
		if function.Recv == nil || ast.IsExported(receiverOf(function)) {
			t.addName(function.Name, function.Doc)
		}
		return
	}
	group := declaration.(*ast.GenDecl)
	for _, spec := range group.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if port, ok := s.Type.(*ast.InterfaceType); ok {
				t.interfaces++
				t.ports[f.syntax.Name.Name+"."+s.Name.Name] = port.Methods.NumFields()
			}
			t.addName(s.Name, group.Doc, s.Doc, s.Comment)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				t.addName(name, group.Doc, s.Doc, s.Comment)
			}
		}
	}
}

// addName counts an exported name and whether one of the comments documents it.
func (t *figures) addName(name *ast.Ident, docs ...*ast.CommentGroup) {
	if !name.IsExported() {
		return
	}
	t.exported++
	for _, doc := range docs {
		if doc != nil {
			t.documented++
			return
		}
	}
}

// largest returns the largest number with its name.
func largest(counts map[string]int) string {
	most := ""
	for name, n := range counts {
		if n > counts[most] || n == counts[most] && name < most {
			most = name
		}
	}
	return fmt.Sprintf("%d (%s)", counts[most], most)
}
