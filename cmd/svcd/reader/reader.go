// Package reader is svcd as the child that reads one document, which a server and
// svcd extract start themselves for. Reading a page takes less time than starting
// the program: its packages prepare tables and schemas when they are initialized.
// So the child does not wait for main: it reads when this package is initialized,
// before most of those that it has no use for, and ends the process.
package reader

import (
	"context"
	"fmt"
	"os"

	"github.com/seed-506d8e5d/svc/files"
)

// Command is the first argument of the child. It is for nobody else and not in the
// help.
const Command = "extract-text"

func init() {
	if len(os.Args) < 2 || os.Args[1] != Command {
		return
	}
	if err := files.RunProcess(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "svcd:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
