package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
)

// commit is set by builds that have no repository: -ldflags "-X main.commit=…".
var commit string

// moduleVersion is the version of the module that the program is of.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "(devel)"
}

// version writes what the program was built from, and in a second line how.
func version(w io.Writer) {
	revision, when, changed := commit, "", ""
	var settings []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && revision == "":
				revision = s.Value
			case s.Key == "vcs.time":
				when = " of " + s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			case !strings.HasPrefix(s.Key, "vcs") && s.Value != "":
				settings = append(settings, s.Key+"="+s.Value)
			}
		}
	}
	if revision == "" {
		revision = "unknown"
	}
	fmt.Fprintf(w, "svcd %s, commit %s%s%s, %s %s/%s\n", moduleVersion(), revision, when, changed, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if len(settings) > 0 {
		fmt.Fprintln(w, "built with", strings.Join(settings, " "))
	}
}
