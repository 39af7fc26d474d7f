package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

func checkCommands() []command {
	return []command{{"check", "DIRECTORY", "read and verify all data in a directory, without a server", checkCommand}}
}

// errDamaged is the error of a check that has found something.
var errDamaged = errors.New("the data is damaged; a server with -salvage goes on without what is lost")

func checkCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *session, args []string) error {
		damaged := 0
		records, err := badgerstore.Check(ctx, args[0], func(err error) {
			damaged++
			fmt.Fprintln(s.stdout, err)
		})
		if err != nil {
			return err
		}
		if damaged > 0 {
			return errDamaged
		}
		fmt.Fprintf(s.stdout, "%s: %d records, no damage\n", args[0], records)
		return nil
	}
}
