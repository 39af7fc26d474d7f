package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// listed is a command as shells and manual pages show it.
type listed struct {
	words, args, help string
	flags             []*flag.Flag
}

// all returns all commands, the server with its flags first.
func all(server *flag.FlagSet) []listed {
	var list []listed
	for _, c := range append(localCommands(), commands()...) {
		one := listed{words: c.words, args: c.args, help: c.help}
		switch {
		case c.words == "":
			one.flags = flagsIn(server)
		case c.prepare != nil:
			var url, key string
			flags := c.flags(&url, &key)
			flags.Bool("json", false, "print the server's answer as JSON")
			c.prepare(flags)
			one.flags = flagsIn(flags)
		}
		list = append(list, one)
	}
	return list
}

func flagsIn(set *flag.FlagSet) (flags []*flag.Flag) {
	set.VisitAll(func(f *flag.Flag) { flags = append(flags, f) })
	return flags
}

// names are the flags as one types them.
func (s listed) names() string {
	var names []string
	for _, f := range s.flags {
		names = append(names, "-"+f.Name)
	}
	return strings.Join(names, " ")
}

// next returns the words that may follow those of a command that has two, by its first.
func next(list []listed) (firsts []string, seconds map[string][]string) {
	seconds = map[string][]string{}
	for _, c := range list {
		first, second, _ := strings.Cut(c.words, " ")
		if first != "" && !slices.Contains(firsts, first) {
			firsts = append(firsts, first)
		}
		if second != "" {
			seconds[first] = append(seconds[first], second)
		}
	}
	return firsts, seconds
}

// Completion writes what makes a shell complete commands and flags; server has those of
// the server. The error is of a shell that is not known.
func Completion(w io.Writer, shell string, server *flag.FlagSet) error {
	list := all(server)
	switch shell {
	case "bash":
		return completeBash(w, list)
	case "zsh":
		if _, err := io.WriteString(w, "#compdef svcd\nautoload -U +X bashcompinit && bashcompinit\n"); err != nil {
			return err
		}
		return completeBash(w, list)
	case "fish":
		return completeFish(w, list)
	}
	return fmt.Errorf("there is no completion for %q, only for bash, zsh and fish", shell)
}

func completeBash(w io.Writer, list []listed) error {
	var b strings.Builder
	firsts, seconds := next(list)
	b.WriteString("_svcd() {\n\tlocal words before=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\"\n\tcase \"$before\" in\n")
	fmt.Fprintf(&b, "\t'') words='%s %s' ;;\n", strings.Join(firsts, " "), list[0].names())
	for _, first := range firsts {
		if more := seconds[first]; more != nil {
			fmt.Fprintf(&b, "\t'%s') words='%s' ;;\n", first, strings.Join(more, " "))
		}
	}
	for _, c := range list {
		if c.words != "" && len(c.flags) > 0 {
			fmt.Fprintf(&b, "\t'%s'|'%[1]s '*) words='%s' ;;\n", c.words, c.names())
		}
	}
	fmt.Fprintf(&b, "\t-*) words='%s' ;;\n\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _svcd svcd\n", list[0].names())
	_, err := io.WriteString(w, b.String())
	return err
}

func completeFish(w io.Writer, list []listed) error {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	known := map[string]bool{}
	for _, c := range list {
		first, second, _ := strings.Cut(c.words, " ")
		when := "__fish_use_subcommand"
		if first != "" && !known[first] {
			known[first] = true
			fmt.Fprintf(&b, "complete -c svcd -n %s -a %s -d %s\n", when, first, quote(c.help))
		}
		if first != "" {
			when = "'__fish_seen_subcommand_from " + first + "'"
		}
		if second != "" {
			fmt.Fprintf(&b, "complete -c svcd -n %s -a %s -d %s\n", when, second, quote(c.help))
			when = "'__fish_seen_subcommand_from " + first + "; and __fish_seen_subcommand_from " + second + "'"
		}
		for _, f := range c.flags {
			_, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(&b, "complete -c svcd -n %s -o %s -d %s\n", when, f.Name, quote(usage))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Man writes the manual page of the program.
func Man(w io.Writer, server *flag.FlagSet) error {
	var b strings.Builder
	b.WriteString(".TH SVCD 1\n.SH NAME\nsvcd \\- serve language models over HTTP, and administer such a server\n.SH SYNOPSIS\n")
	list := all(server)
	for _, c := range list {
		fmt.Fprintf(&b, ".B svcd %s\n%s\n.br\n", roff(c.words), roff(c.args))
	}
	b.WriteString(".SH OPTIONS OF THE SERVER\nEach flag has an environment variable; the flag wins.\n")
	writeFlags(&b, list[0])
	b.WriteString(".SH COMMANDS\n")
	for _, c := range list[1:] {
		fmt.Fprintf(&b, ".SS svcd %s\n%s.\n", roff(strings.TrimSpace(c.words+" "+c.args)), roff(strings.ToUpper(c.help[:1])+c.help[1:]))
		writeFlags(&b, c)
	}
	b.WriteString(".SH FILES\n.TP\n.I ./svc\\-data\nThe data, where \\-data says nothing else; of the packages /var/lib/svcd.\n.TP\n.I /etc/svcd/svcd.env\n" +
		"The variables of the packages' service.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFlags(b *strings.Builder, c listed) {
	for _, f := range c.flags {
		name, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(b, ".TP\n.B %s\n.I %s\n%s (%s)\n", roff("-"+f.Name), roff(name), roff(usage), roff(variable(f.Name)))
	}
}

// roff escapes a text for a manual page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
