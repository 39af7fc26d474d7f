package svc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What importing the package may bring at the most, packages of Go's own library
// aside.
const (
	mostPackages = 100
	mostKB       = 7_200 // of source
)

// heavy is what only packages bring that need it: telemetry, badgerstore, pgstore,
// httpapi, svcd.
var heavy = []string{
	"github.com/prometheus/", "go.opentelemetry.io/", "google.golang.org/", "github.com/dgraph-io/", "github.com/jackc/",
	"github.com/coder/websocket", "gonum.org/", "honnef.co/", "golang.org/x/tools",
}

// TestWhatAnImportBrings prints and bounds what a program gets that imports this
// package alone.
func TestWhatAnImportBrings(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,EmbedFiles,Standard", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages, own, size := 0, 0, int64(0)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir     string
			GoFiles, EmbedFiles []string
			Standard            bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Standard {
			continue
		}
		packages++
		if strings.HasPrefix(p.ImportPath, module) {
			own++
		}
		for _, name := range append(p.GoFiles, p.EmbedFiles...) {
			info, err := os.Stat(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		for _, prefix := range heavy {
			if strings.HasPrefix(p.ImportPath, prefix) {
				t.Errorf("importing the package brings %s", p.ImportPath)
			}
		}
	}
	t.Logf("importing the package brings %d packages, %d of them of this module, with %d KB of source", packages, own, size>>10)
	if packages > mostPackages || size>>10 > mostKB {
		t.Errorf("that is more than %d packages or %d KB", mostPackages, mostKB)
	}
}
