package main

import (
	"io"
	"log/slog"
	"time"
)

// newLogHandler writes the log as text, with durations as people write them.
func newLogHandler(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.DurationValue(rounded(a.Value.Duration()))
		}
		return a
	}})
}

// rounded returns a duration with three digits at most: 93.1ms, 1.52s, 2m10s.
func rounded(d time.Duration) time.Duration {
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}
