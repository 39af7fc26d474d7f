package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/seed-506d8e5d/svc/storage/badgerstore"
)

func checkCommands() []command {
	return []command{
		{words: "check", args: "DIRECTORY", access: local, help: "read and verify all data in a directory, without a server", prepare: checkCommand},
		{words: "salvage", args: "DAMAGED NEW", access: local, help: "export what can be read of a damaged directory into a new one", prepare: salvageCommand},
	}
}

// errDamaged is the error of a check that has found something.
var errDamaged = errors.New("the data is damaged; svcd -salvage starts with what can be read, and svcd salvage exports it into a new directory")

func checkCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *session, args []string) error {
		damaged := 0
		records, err := badgerstore.Check(ctx, args[0], func(err error) {
			damaged++
			fmt.Fprintln(s.Stdout, err)
		})
		if err != nil {
			return err
		}
		if damaged > 0 {
			return errDamaged
		}
		fmt.Fprintf(s.Stdout, "%s: %d records, no damage\n", args[0], records)
		return nil
	}
}

func salvageCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *session, args []string) error {
		if entries, err := os.ReadDir(args[1]); len(entries) > 0 {
			return fmt.Errorf("%s is not empty", args[1])
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		records, err := badgerstore.Salvage(ctx, args[0], args[1], func(err error) { fmt.Fprintln(s.Stdout, err) })
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stdout, "%s has %d records of %s\n", args[1], records, args[0])
		return nil
	}
}
