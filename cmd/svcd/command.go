package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// command is something that svcd does with a running server.
type command struct {
	words string // how it is called: one word or two
	args  string // the names of its arguments, all required; the last may be repeated where it ends in …
	help  string // what it does, in one line

	// prepare defines the command's own flags and returns what runs it.
	prepare func(*flag.FlagSet) action
}

// ofUser reports whether the command is one of users, who have an API key, and
// not of the operator, who has the admin key.
func (c command) ofUser() bool {
	return strings.HasPrefix(c.words, "files ") || c.words == "decide" || c.words == "eval"
}

// action runs a command whose flags have been read. It has the arguments that
// the command names.
type action func(ctx context.Context, s *session, args []string) error

// session is what a running command works with.
type session struct {
	environment
	client
	json bool // print what the server answers instead of a table
}

// commands is the table of all commands, in the order of the help.
func commands() []command {
	var all []command
	for _, group := range [][]command{organizationCommands(), keyCommands(), creditCommands(), fileCommands(), backupCommands(), checkCommands(), decideCommands(), evalCommands()} {
		all = append(all, group...)
	}
	return all
}

// command runs the command that the arguments name.
func (e environment) command(ctx context.Context) error {
	if e.args[0] == "help" {
		help(e.stdout, append(localCommands(), commands()...))
		return nil
	}
	var near []command
	for _, c := range commands() {
		words := strings.Fields(c.words)
		if words[0] != e.args[0] {
			continue
		}
		near = append(near, c)
		if len(words) == 1 || len(e.args) > 1 && words[1] == e.args[1] {
			return e.runCommand(ctx, c, e.args[len(words):])
		}
	}
	if near == nil {
		return fmt.Errorf("there is no command %q; svcd help lists them", e.args[0])
	}
	help(e.stderr, near)
	return fmt.Errorf("svcd %s needs one of the words above", e.args[0])
}

// localCommands are the commands that need no server and are not in the table.
func localCommands() []command {
	return []command{
		{words: "", args: "[flags]", help: "serve; svcd -help lists the flags"},
		{words: "extract", args: "FILE…", help: "print documents as a model sees them, without a server"},
		{words: "check-config", args: "FILE", help: "say what is wrong with a configuration file"},
		{words: "version", help: "say which commit svcd was built from"},
		{words: "help", help: "list the commands"},
	}
}

// help prints a table of commands.
func help(out io.Writer, list []command) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\n", strings.Join(strings.Fields("svcd "+c.words+" "+c.args), " "), c.help)
	}
}

// runCommand reads the flags and arguments of a command and runs it.
func (e environment) runCommand(ctx context.Context, c command, args []string) error {
	s := &session{environment: e}
	flags := flag.NewFlagSet("svcd "+c.words, flag.ContinueOnError)
	flags.SetOutput(e.stderr)
	flags.StringVar(&s.url, "url", "http://127.0.0.1:8080", "`URL` of the server")
	if c.ofUser() {
		flags.StringVar(&s.key, "key", "", "an API `key`")
	} else {
		flags.StringVar(&s.key, "admin-key", "", "the server's admin `key`")
	}
	if err := e.setFlags(flags); err != nil {
		return err
	}
	flags.BoolVar(&s.json, "json", false, "print the server's answer as JSON")
	run := c.prepare(flags)
	flags.Usage = func() {
		fmt.Fprintf(e.stderr, "svcd %s [flags]: %s\n", strings.TrimSpace(c.words+" "+c.args), c.help)
		flags.PrintDefaults()
	}
	values, err := parse(flags, args)
	if err != nil {
		return err
	}
	if need := len(strings.Fields(c.args)); len(values) < need || len(values) > need && !strings.HasSuffix(c.args, "…") {
		return fmt.Errorf("it is called as: svcd %s", strings.TrimSpace(c.words+" "+c.args))
	}
	return run(ctx, s, values)
}

// parse reads flags before, between and after the arguments, which it returns.
// What follows -- is no flag.
func parse(flags *flag.FlagSet, args []string) ([]string, error) {
	var values []string
	for {
		if err := parseFlags(flags, args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if read := len(args) - len(rest); len(rest) == 0 || read > 0 && args[read-1] == "--" {
			return append(values, rest...), nil
		}
		values, args = append(values, rest[0]), rest[1:]
	}
}

// parseFlags reads the flags that come first. It prints the help where the
// arguments ask for it and returns [flag.ErrHelp].
func parseFlags(flags *flag.FlagSet, args []string) error {
	out, usage := flags.Output(), flags.Usage
	flags.SetOutput(io.Discard) // package flag prints the whole help with every error
	flags.Usage = func() {}
	err := flags.Parse(args)
	flags.SetOutput(out)
	flags.Usage = usage
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage()
	case err != nil:
		return fmt.Errorf("%w; %s -help lists the flags", err, flags.Name())
	}
	return err
}

// table prints rows under a heading. Cells are separated by tabs.
func (s *session) table(heading string, rows []string) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	return w.Flush()
}
