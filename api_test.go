package svc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// internals are the internal types that exported signatures still name. The list
// gets shorter and never longer.
var internals = []string{
	"jsonout.Writer", // of items, responses and decisions, which write themselves
	"page.Params", "page.Page",
}

// TestNoInternalTypesInTheAPI walks everything that importers can name.
func TestNoInternalTypesInTheAPI(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") ||
			slices.Contains([]string{"internal", "testdata", "cmd", "examples", "compat", "tools", "bench", "deploy"}, d.Name())) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			checkAPI(t, path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkAPI looks for internal types in the exported declarations of a file.
func checkAPI(t *testing.T, path string, file *ast.File) {
	internal := map[string]bool{}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err == nil && strings.HasPrefix(imported, module) && strings.Contains(imported, "/internal/") {
			internal[imported[strings.LastIndex(imported, "/")+1:]] = true
		}
	}
	look := func(name string, node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.CompositeLit:
				return false
			case *ast.Field:
				// A field or method that is not exported is nobody's to name.
				if len(n.Names) > 0 && node != n && !slices.ContainsFunc(n.Names, (*ast.Ident).IsExported) && isField(node, n) {
					return false
				}
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if ok && internal[pkg.Name] && !slices.Contains(internals, pkg.Name+"."+n.Sel.Name) {
					t.Errorf("%s: %s names the internal %s.%s", path, name, pkg.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv.List[0].Type)) {
				look(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
					look(s.Name.Name, s.Type)
				}
			}
		}
	}
}

// isField reports whether a field is one of a struct or a method of an interface,
// and not a parameter.
func isField(root ast.Node, field *ast.Field) bool {
	found := false
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			found = found || slices.Contains(n.Fields.List, field)
		case *ast.InterfaceType:
			found = found || slices.Contains(n.Methods.List, field)
		}
		return !found
	})
	return found
}

func exportedReceiver(receiver ast.Expr) bool {
	switch r := receiver.(type) {
	case *ast.StarExpr:
		return exportedReceiver(r.X)
	case *ast.IndexExpr:
		return exportedReceiver(r.X)
	case *ast.Ident:
		return r.IsExported()
	}
	return false
}
