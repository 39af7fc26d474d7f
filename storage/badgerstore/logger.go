package badgerstore

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// logger is badger's logger over slog. Badger says in its log alone that it could
// not read a value: here that becomes one message for each place.
type logger struct {
	to       *slog.Logger
	manifest *manifest // is told of compactions; nil where badger is not opened

	mu      sync.Mutex
	damaged map[damage]bool
}

func (l *logger) Errorf(format string, args ...any) {
	switch {
	case strings.HasPrefix(format, "Unable to read: Key:"):
		l.unreadable(fmt.Sprint(args[len(args)-1]))
	case strings.HasPrefix(format, "Key: %v, Version :"): // details of the same, with the caller's key
	default:
		l.log(slog.LevelError, format, args)
	}
}

func (l *logger) Warningf(format string, args ...any) {
	if strings.HasPrefix(format, "[Compactor: %d] LOG Compact FAILED") {
		l.manifest.gaveUp(args[0].(int))
	}
	l.log(slog.LevelWarn, format, args)
}

func (l *logger) Infof(format string, args ...any) { l.log(slog.LevelDebug, format, args) }

func (l *logger) Debugf(format string, args ...any) {
	if strings.HasPrefix(format, "[%d] LOG Compact. Added %d keys.") {
		l.manifest.compacted(args[0].(int), args[1].(uint64))
	}
	l.log(slog.LevelDebug, format, args)
}

func (l *logger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.to.Enabled(ctx, level) {
		l.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// place is how badger writes where a value is.
var place = regexp.MustCompile(`Fid:(\d+) Len:\d+ Offset:(\d+)`)

// maxDamaged is how many places are remembered as told.
const maxDamaged = 1000

// unreadable tells of a value that could not be read. That its file is not there
// is no damage: it may have been moved, and is looked for again.
func (l *logger) unreadable(reason string) {
	m := place.FindStringSubmatch(reason)
	if m == nil {
		l.log(slog.LevelDebug, "%s", []any{reason})
		return
	}
	file, _ := strconv.Atoi(m[1])
	offset, _ := strconv.ParseInt(m[2], 10, 64)
	d := damage{file: valueName(file), offset: offset, reason: errValue.Error()}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.damaged[d] || len(l.damaged) == maxDamaged {
		return
	}
	if l.damaged == nil {
		l.damaged = make(map[damage]bool)
	}
	l.damaged[d] = true
	l.to.Error("badgerstore: a value is damaged", "file", d.file, "offset", d.offset)
}
