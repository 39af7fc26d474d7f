package svc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// private are the packages that importers cannot import, and those that are
// programs.
var private = regexp.MustCompile(`/(internal|cmd|examples)(/|$)`)

// TestNoInternalTypesInTheAPI walks everything that importers can name, and all
// that they get to by it.
func TestNoInternalTypesInTheAPI(t *testing.T) {
	compiled := exportData(t)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	packages := 0
	for path := range compiled {
		if !strings.HasPrefix(path, module) || private.MatchString(path) {
			continue
		}
		pkg, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		packages++
		for _, name := range pkg.Scope().Names() {
			if object := pkg.Scope().Lookup(name); object.Exported() {
				a := api{t: t, seen: map[types.Type]bool{}}
				a.object(object, path+"."+name)
			}
		}
	}
	if packages < 20 {
		t.Errorf("only %d packages were looked at", packages)
	}
}

// exportData returns where what the compiler knows of each package is, by its path.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return compiled
		} else if err != nil {
			t.Fatal(err)
		}
		compiled[p.ImportPath] = p.Export
	}
}

// api looks for internal types in what somebody can name.
type api struct {
	t    *testing.T
	seen map[types.Type]bool
}

// object looks at a declaration; at is how one gets to it.
func (a *api) object(object types.Object, at string) {
	named, ok := object.Type().(*types.Named)
	if _, declares := object.(*types.TypeName); !ok || !declares {
		a.typ(object.Type(), at)
		return
	}
	for i := range named.NumMethods() {
		if m := named.Method(i); m.Exported() {
			a.typ(m.Type(), at+"."+m.Name())
		}
	}
	a.typ(named.Underlying(), at)
}

// typ looks at the types that a type is made of, as far as they have names of
// their own.
func (a *api) typ(typ types.Type, at string) {
	if a.seen[typ] {
		return
	}
	a.seen[typ] = true
	switch typ := typ.(type) {
	case *types.Alias:
		a.typ(types.Unalias(typ), at)
	case *types.Named:
		if pkg := typ.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), module) && private.MatchString(pkg.Path()) {
			a.t.Errorf("%s is or has the internal %s", at, typ)
		}
		for of := range typ.TypeArgs().Types() {
			a.typ(of, at)
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
		a.typ(typ.Elem(), at)
		if m, ok := typ.(*types.Map); ok {
			a.typ(m.Key(), at)
		}
	case *types.Signature:
		for of := range typ.Params().Variables() {
			a.typ(of.Type(), at)
		}
		for of := range typ.Results().Variables() {
			a.typ(of.Type(), at)
		}
	case *types.Struct:
		for field := range typ.Fields() {
			if field.Exported() || field.Embedded() {
				a.typ(field.Type(), at+"."+field.Name())
			}
		}
	case *types.Interface:
		for m := range typ.Methods() {
			if m.Exported() {
				a.typ(m.Type(), at+"."+m.Name())
			}
		}
	}
}
