// Command svcd serves the inference service over HTTP.
//
//	svcd                     serve http://127.0.0.1:8080 with data in ./svc-data
//	svcd -help               list the flags
//	svcd check-config FILE   say what is wrong with a configuration file
//	svcd extract FILE…       print documents as a model sees them
//	svcd version             say which commit it was built from
//	svcd completion SHELL    print what bash, zsh or fish completes
//	svcd help                list all commands
//
// Every flag of the server has an environment variable; the flag wins. This
// package is wiring: config.go reads the flags and models.go the configuration
// file, serve.go puts the parts together and runs them. All other commands are in
// internal/cli. svcd also runs itself, once for each document whose text is
// extracted (runReader).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/seed-506d8e5d/svc/cmd/svcd/internal/cli"
	"github.com/seed-506d8e5d/svc/files"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == cli.ReaderCommand {
		runReader(os.Args[2:])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	env := environment{args: os.Args[1:], getenv: os.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	err := env.run(ctx)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "svcd:", err)
	os.Exit(1)
}

// runReader is main in the process that reads one document.
func runReader(args []string) {
	if err := files.RunProcess(context.Background(), args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "svcd:", err)
		os.Exit(1)
	}
}

// environment is what a process is started with.
type environment struct {
	args           []string
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// document writes what shells and man know of the program.
func (e environment) document(args []string) error {
	var c config
	flags, _ := e.flags(&c)
	switch {
	case len(args) == 1 && args[0] == "man":
		return cli.Man(e.stdout, flags)
	case len(args) == 2 && args[0] == "completion":
		return cli.Completion(e.stdout, args[1], flags)
	}
	return errors.New("it is called as: svcd man, or svcd completion with bash, zsh or fish")
}

// run runs a command or serves until ctx ends.
func (e environment) run(ctx context.Context) error {
	if len(e.args) == 1 && e.args[0] == "version" {
		version(e.stdout)
		return nil
	}
	if len(e.args) > 0 && (e.args[0] == "completion" || e.args[0] == "man") {
		return e.document(e.args)
	}
	if len(e.args) > 0 && e.args[0] == "check-config" {
		return e.checkConfig(e.args[1:])
	}
	if len(e.args) > 0 && !strings.HasPrefix(e.args[0], "-") {
		command := cli.Environment{Args: e.args, Getenv: e.getenv, Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr}
		return command.Run(ctx)
	}
	c, err := e.config()
	if err != nil {
		return err
	}
	privateFiles()
	limitMemory(e.getenv)
	return e.serve(ctx, c)
}

// checkConfig reads a configuration file and does nothing with it.
func (e environment) checkConfig(files []string) error {
	if len(files) != 1 {
		return errors.New("check-config needs the name of one file")
	}
	m, err := readModels(files[0], e.getenv)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s: %d models, no errors\n", files[0], m.count())
	return nil
}
