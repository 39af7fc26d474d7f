package svc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/seed-506d8e5d/svc"

// edges is which packages of this module a package may import, tests aside.
// Imports run downwards: cmd, httpapi, svc, the domain packages, and what they
// stand on. A package that is not in the table may not exist.
var edges = map[string][]string{
	"cmd/svcd": {"", "batches", "embeddings", "vectorstores", "cmd/svcd/internal/cli", "console", "driver", "egress", "httpapi", "internal/jsonin", "mcpserver", "model", "model/*", "storage", "storage/*", "responses/websearch", "accounts", "fault",
		"responses", "responses/mcptools",
		"decisions", "files", "guard", "route", "signon", "telemetry", "webhooks", "internal/background"},
	"cmd/svcd/internal/cli": {"", "page", "storage/memstore", "vectorstores", "accounts", "batches", "client", "decisions", "decisions/calibration", "decisions/evaluation", "fault", "files", "internal/background", "internal/convert", "internal/jsonout", "internal/wire",
		"model", "storage", "storage/backup", "storage/badgerstore", "storage/pgstore"},
	"console":  {"", "accounts", "batches", "chat", "conversations", "decisions", "decisions/calibration", "decisions/evaluation", "fault", "files", "model", "responses", "httpapi", "internal/convert", "internal/jsonout", "internal/seal", "signon", "webhooks"},
	"examples": {"", "*"},
	"httpapi":  {"", "accounts", "batches", "chat", "conversations", "decisions", "decisions/calibration", "embeddings", "fault", "files", "guard", "idempotency", "internal/*", "model", "page", "reference", "responses", "storage", "vectorstores", "webhooks"},

	"": {"accounts", "chat", "cluster", "conversations", "decisions", "embeddings", "fault", "files", "guard", "idempotency", "internal/*", "model", "model/builtin", "page",
		"responses", "responses/filesearch", "responses/websearch", "route", "storage", "storage/backup", "storage/memstore"},

	"mcpserver": {"", "fault", "files", "model", "responses/filesearch", "vectorstores"},

	"client": {"accounts", "batches", "chat", "conversations", "decisions", "decisions/calibration", "embeddings", "fault", "files", "guard", "internal/convert", "model", "page", "responses", "vectorstores", "webhooks", "internal/wire"},

	"telemetry": {"", "driver", "fault", "files", "guard", "internal/status", "model", "responses/websearch", "storage"},

	"limits":                {"cluster", "fault", "storage"},
	"accounts":              {"limits", "cluster", "fault", "idempotency", "internal/*", "model", "page", "storage"},
	"cluster":               {"storage", "internal/background"},
	"batches":               {"accounts", "cluster", "fault", "files", "internal/*", "page", "storage"},
	"chat":                  {"accounts", "fault", "internal/*", "model", "page", "storage"},
	"conversations":         {"accounts", "cluster", "fault", "internal/*", "model", "page", "storage"},
	"decisions":             {"accounts", "decisions/calibration", "fault", "internal/*", "model", "page", "storage"},
	"decisions/calibration": {},
	"decisions/evaluation":  {"decisions/calibration"},
	"embeddings":            {"accounts", "fault", "model"},
	"files":                 {"accounts", "cluster", "extract", "extract/*", "fault", "idempotency", "internal/*", "model", "page", "storage"},
	"guard":                 {"accounts", "decisions", "decisions/calibration", "driver", "fault", "internal/*", "model"},
	"route":                 {"accounts", "decisions", "decisions/calibration", "driver", "fault", "guard", "internal/*", "model"},
	"idempotency":           {"fault", "internal/*", "storage"},
	"responses":             {"accounts", "conversations", "fault", "internal/*", "model", "page", "responses/filesearch", "responses/websearch", "storage"},
	"responses/mcptools":    {"accounts", "conversations", "decisions", "egress", "fault", "responses"},
	"responses/filesearch":  {"accounts"},
	"responses/websearch":   {"internal/background"},

	"extract":                   {},
	"extract/doc":               {"extract", "extract/internal/*"},
	"extract/docx":              {"extract", "extract/internal/*", "extract/rtf"},
	"extract/html":              {"extract", "extract/internal/*"},
	"extract/internal/markdown": {},
	"extract/internal/ooxml":    {"extract", "extract/internal/word"},
	"extract/internal/rtl":      {},
	"extract/internal/word":     {"extract/internal/markdown"},
	"extract/pdf":               {"extract", "extract/internal/*"},
	"extract/pptx":              {"extract", "extract/internal/*"},
	"extract/rtf":               {"extract", "extract/internal/*"},
	"extract/xlsx":              {"extract", "extract/internal/*"},

	"model":                           {"driver", "fault"},
	"model/builtin":                   {"fault", "internal/*", "model"},
	"model/llamaserver":               {},
	"model/modeltest":                 {"driver", "fault", "internal/*", "model"},
	"model/openai":                    {"fault", "internal/*", "model", "model/openai/internal/*"},
	"model/openai/internal/fairqueue": {"model"},

	"storage":                  {"driver", "fault", "internal/jsonout"},
	"storage/backup":           {"storage"},
	"storage/badgerstore":      {"storage", "storage/backup", "storage/internal/*", "internal/background"},
	"storage/internal/txn":     {"storage"},
	"storage/internal/wal":     {},
	"storage/internal/waltest": {"storage/internal/wal"},
	"storage/memstore":         {"storage", "storage/internal/*"},
	"storage/pgstore":          {"storage", "storage/internal/*", "internal/background"},
	"storage/pgstore/pgtest":   {},
	"storage/storagetest":      {"driver", "storage"},

	"reference":         {},
	"signon":            {"accounts", "fault"},
	"signon/signontest": {},

	"vectorstores":                {"accounts", "cluster", "fault", "files", "internal/*", "page", "responses/filesearch", "storage", "vectorstores/internal/*"},
	"vectorstores/internal/chunk": {"model"},
	"vectorstores/internal/index": {},
	"vectorstores/internal/sets":  {},

	"webhooks": {"accounts", "egress", "fault", "internal/*", "page", "storage"},

	"driver":              {},
	"egress":              {},
	"fault":               {},
	"page":                {"fault", "storage"},
	"internal/background": {},
	"internal/admission":  {"fault"},
	"internal/cpu":        {},
	"internal/wire":       {"fault", "internal/jsonin", "internal/jsonout"},
	"internal/convert":    {"accounts", "batches", "chat", "conversations", "decisions", "decisions/calibration", "embeddings", "fault", "files", "guard", "internal/generation", "internal/jsonout", "model", "page", "responses", "vectorstores", "webhooks", "internal/wire"},
	"internal/format":     {"storage"},
	"internal/generation": {"fault", "internal/background", "internal/jsonout", "internal/schema", "model"},
	"internal/images":     {"fault", "model"},
	"internal/ids":        {},
	"internal/o200k":      {},
	"internal/roster":     {"storage"},
	"internal/jsonin":     {"fault"},
	"internal/jsonout":    {},
	"internal/messages":   {"chat", "fault", "internal/jsonout", "internal/wire", "model"},
	"internal/logprobs":   {"internal/jsonout", "model"},
	"internal/schema":     {"fault", "internal/cpu"},
	"internal/seal":       {},
	"internal/status":     {},
}

// network and processes are what only the packages named may touch: nothing
// below httpapi knows HTTP but the clients, and nothing but the programs knows
// flags.
var restricted = map[string][]string{
	"net/http": {"client", "cmd/svcd", "cmd/svcd/internal/cli", "console", "egress", "examples", "httpapi", "internal/status", "mcpserver", "model/llamaserver", "model/openai", "responses/mcptools", "responses/websearch", "signon", "signon/signontest", "telemetry", "webhooks"},
	"flag":     {"cmd/svcd", "cmd/svcd/internal/cli", "examples"},
	"os/exec":  {"cmd/svcd", "files", "model/llamaserver", "storage/pgstore/pgtest"},
}

func TestImportsRunDownwards(t *testing.T) {
	for pkg, imports := range packages(t) {
		allowed, known := edges[place(pkg)]
		if !known {
			t.Errorf("package %q is not in the table of edges", pkg)
			continue
		}
		for _, path := range imports {
			if path != module && !strings.HasPrefix(path, module+"/") {
				if users := restricted[path]; users != nil && !slices.Contains(users, place(pkg)) {
					t.Errorf("package %q imports %s, which only %v may", pkg, path, users)
				}
				continue
			}
			to := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
			if !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, to) }) {
				t.Errorf("package %q imports %q: only %q are allowed", pkg, to, allowed)
			}
		}
	}
}

// place is the row of a package: all examples share one.
func place(pkg string) string {
	if strings.HasPrefix(pkg, "examples/") {
		return "examples"
	}
	return pkg
}

func matches(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(pkg, prefix)
	}
	return pattern == pkg
}

// packages returns the imports of the module's packages, without those of tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	eachFile(t, parser.ImportsOnly, func(path string, file *ast.File) {
		pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[pkg] = append(found[pkg], imported)
		}
	})
	return found
}

// A newcomer finds each package in the reading order of docs/architecture.md, and
// each introduces itself.
func TestPackagesHaveCommentsAndAPlaceInTheReadingOrder(t *testing.T) {
	comments := map[string]string{}
	eachFile(t, parser.ParseComments|parser.PackageClauseOnly, func(path string, file *ast.File) {
		if file.Name.Name != "main" {
			comments[filepath.ToSlash(filepath.Dir(path))] += file.Doc.Text()
		}
	})
	data, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, order, _ := strings.Cut(string(data), "## Reading order")
	for pkg, comment := range comments {
		if comment == "" {
			t.Errorf("package %s has no package comment", pkg)
		}
		if pkg != "." && !strings.Contains(order, "`"+pkg+"`") {
			t.Errorf("docs/architecture.md does not name %s in its reading order", pkg)
		}
	}
}

// What an operation needs to know is in its parameters, where one sees it.
func TestContextsCarryCancellationOnly(t *testing.T) {
	eachFile(t, parser.SkipObjectResolution, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "WithValue" {
				if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "context" {
					t.Errorf("%s puts a value into a context", path)
				}
			}
			return true
		})
	})
}

// eachFile calls f for the files of the module's packages, without those of tests.
func eachFile(t *testing.T, mode parser.Mode, f func(path string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bench" || d.Name() == "compat" || d.Name() == "tools") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, mode)
		if err == nil {
			f(path, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
