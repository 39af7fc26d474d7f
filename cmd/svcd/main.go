// Command svcd serves the inference service over HTTP.
//
//	svcd                     serve http://127.0.0.1:8080 with data in ./svc-data
//	svcd -help               list the flags
//	svcd help                list the commands that administer a running server
//
// Every flag of the server has an environment variable; the flag wins. This
// package is wiring: config.go reads the flags, serve.go puts the parts together
// and runs them. The commands are in command.go, their server in client.go.
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := environment{args: os.Args[1:], getenv: os.Getenv, stdout: os.Stdout, stderr: os.Stderr}
	err := env.run(ctx)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	if !errors.Is(err, errShown) {
		fmt.Fprintln(os.Stderr, "svcd:", err)
	}
	os.Exit(1)
}

// errShown is the error of a call that was explained where it was found wrong.
var errShown = errors.New("called in a wrong way")

// environment is what a process is started with.
type environment struct {
	args           []string
	getenv         func(string) string
	stdout, stderr io.Writer
}

// run runs a command or serves until ctx ends.
func (e environment) run(ctx context.Context) error {
	if len(e.args) > 0 && !strings.HasPrefix(e.args[0], "-") {
		return e.command(ctx)
	}
	c, err := e.config()
	if err != nil {
		return err
	}
	return e.serve(ctx, c)
}
