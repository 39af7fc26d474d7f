// Package cli has the commands of svcd besides the server: for operators with the
// admin key and for people with an API key, both over package client, and those that
// need no server. [Environment.Run] runs the one that is named.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/fault"
)

// ReaderCommand is the first argument of the process that reads one document
// ([files.Process]). The server and svcd extract start it; it is not in the help.
const ReaderCommand = "extract-text"

// Environment is what a process is started with.
type Environment struct {
	Args           []string
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// command is something that svcd does besides serving.
type command struct {
	words string // how it is called: one word or two
	args  string // the names of its arguments, all required; the last may be repeated where it ends in …
	help  string // what it does, in one line

	access access // what it needs a key for

	// prepare defines the command's own flags and returns what runs it.
	prepare func(*flag.FlagSet) action
}

// access is what a command needs a key for.
type access uint8

const (
	administers access = iota // the admin key
	uses                      // an API key
	local                     // no key and no server
)

// action runs a command whose flags have been read. It has the arguments that
// the command names.
type action func(ctx context.Context, s *session, args []string) error

// session is what a running command works with.
type session struct {
	Environment
	server *client.Client
	json   bool // print what the server answers instead of a table
}

// commands is the table of all commands, in the order of the help.
func commands() []command {
	var all []command
	for _, group := range [][]command{organizationCommands(), keyCommands(), creditCommands(), fileCommands(), backupCommands(), checkCommands(), decideCommands(), labelCommands(), evalCommands(), searchCommands()} {
		all = append(all, group...)
	}
	return all
}

// Run runs the command that the arguments name.
func (e Environment) Run(ctx context.Context) error {
	switch e.Args[0] {
	case "help":
		Help(e.Stdout)
		return nil
	case "extract":
		return e.extract(ctx, e.Args[1:])
	}
	var near []command
	for _, c := range commands() {
		words := strings.Fields(c.words)
		if words[0] != e.Args[0] {
			continue
		}
		near = append(near, c)
		if len(words) == 1 || len(e.Args) > 1 && words[1] == e.Args[1] {
			return e.runCommand(ctx, c, e.Args[len(words):])
		}
	}
	if near == nil {
		return fmt.Errorf("there is no command %q; svcd help lists them", e.Args[0])
	}
	help(e.Stderr, near)
	return fmt.Errorf("svcd %s needs one of the words above", e.Args[0])
}

// localCommands are the commands that need no server and are not in the table.
func localCommands() []command {
	return []command{
		{words: "", args: "[flags]", help: "serve; svcd -help lists the flags"},
		{words: "extract", args: "FILE…", help: "print documents as a model sees them, without a server"},
		{words: "check-config", args: "FILE", help: "say what is wrong with a configuration file"},
		{words: "completion", args: "SHELL", help: "print what bash, zsh or fish completes"},
		{words: "man", help: "print the manual page"},
		{words: "version", help: "say which commit svcd was built from"},
		{words: "help", help: "list the commands"},
	}
}

// Help prints a table of all commands.
func Help(out io.Writer) { help(out, append(localCommands(), commands()...)) }

// help prints a table of commands.
func help(out io.Writer, list []command) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	for _, c := range list {
		fmt.Fprintf(w, "%s\t%s\n", strings.Join(strings.Fields("svcd "+c.words+" "+c.args), " "), c.help)
	}
}

// runCommand reads the flags and arguments of a command and runs it.
func (e Environment) runCommand(ctx context.Context, c command, args []string) error {
	s := &session{Environment: e}
	var url, key string
	flags := c.flags(&url, &key)
	flags.SetOutput(e.Stderr)
	if err := ReadEnvironment(flags, e.Getenv); err != nil {
		return err
	}
	flags.BoolVar(&s.json, "json", false, "print the server's answer as JSON")
	run := c.prepare(flags)
	flags.Usage = func() {
		fmt.Fprintf(e.Stderr, "svcd %s [flags]: %s\n", strings.TrimSpace(c.words+" "+c.args), c.help)
		flags.PrintDefaults()
	}
	values, err := parse(flags, args)
	if err != nil {
		return err
	}
	if need := len(strings.Fields(c.args)); len(values) < need || len(values) > need && !strings.HasSuffix(c.args, "…") {
		return fmt.Errorf("it is called as: svcd %s", strings.TrimSpace(c.words+" "+c.args))
	}
	switch {
	case key != "" || c.access == local:
	case c.access == uses:
		return errors.New("no API key: set -key or SVC_API_KEY")
	default:
		return errors.New("no admin key: set -admin-key or SVC_ADMIN_KEY to the one that the server was started with")
	}
	s.server = client.New(url, key)
	s.server.Retries = -1 // a person sees what is wrong and can try again
	return run(ctx, s, values)
}

// flags defines what a command has to reach its server.
func (c command) flags(url, key *string) *flag.FlagSet {
	flags := flag.NewFlagSet("svcd "+c.words, flag.ContinueOnError)
	flags.StringVar(url, "url", "http://127.0.0.1:8080", "`URL` of the server")
	if c.access == uses {
		flags.StringVar(key, "key", "", "an API `key`")
	} else {
		flags.StringVar(key, "admin-key", "", "the server's admin `key`")
	}
	return flags
}

// sentence words the error of a [client.Client] for people.
func sentence(err error) error {
	e, ok := err.(*fault.Error)
	switch {
	case !ok:
		return err
	case e.Kind == fault.Unavailable && e.Err != nil:
		return fmt.Errorf("the server cannot be reached: %w", e.Err)
	case e.Code == fault.CodeNotFound:
		return fmt.Errorf("the server was started without an admin key: %s", e.Message)
	}
	if e.Code != "" {
		return fmt.Errorf("%s (%s)", e.Message, e.Code)
	}
	if status, ok := strings.CutPrefix(e.Message, "The server answered "); ok { // and nothing that a client reads
		return fmt.Errorf("the server answered %s", strings.TrimSuffix(status, "."))
	}
	return errors.New(e.Message)
}

// parse reads flags before, between and after the arguments, which it returns.
// What follows -- is no flag.
func parse(flags *flag.FlagSet, args []string) ([]string, error) {
	var values []string
	for {
		if err := ParseFlags(flags, args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if read := len(args) - len(rest); len(rest) == 0 || read > 0 && args[read-1] == "--" {
			return append(values, rest...), nil
		}
		values, args = append(values, rest[0]), rest[1:]
	}
}

// ParseFlags reads the flags that come first. It prints the help where the
// arguments ask for it and returns [flag.ErrHelp].
func ParseFlags(flags *flag.FlagSet, args []string) error {
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
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	return w.Flush()
}

// ReadEnvironment gives the flags the values that the environment has for them, and
// names its variables in their help.
func ReadEnvironment(flags *flag.FlagSet, getenv func(string) string) error {
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		f.Usage += " (" + name + ")"
		if value := getenv(name); value != "" && err == nil {
			if setErr := f.Value.Set(value); setErr != nil {
				err = fmt.Errorf("the environment variable %s has the value %q: %w", name, value, setErr)
			}
		}
	})
	return err
}

// variable names the environment variable of a flag.
func variable(flag string) string {
	switch flag {
	case "search":
		return "SVC_SEARCH_URL"
	case "upstream":
		return "SVC_UPSTREAM_URL"
	case "alias":
		return "SVC_ALIASES"
	case "cors-origin":
		return "SVC_CORS_ORIGINS"
	case "key":
		return "SVC_API_KEY"
	}
	return "SVC_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
