// Package defaults has what a service takes from its surroundings where its options
// do not say otherwise: the time, IDs and a log.
package defaults

import (
	"log/slog"
	"time"

	"github.com/seed-506d8e5d/svc/internal/ids"
)

// For returns what it is given, and in the place of nil the machine's clock, random
// IDs that are in the order of their making, and the program's log.
func For(now func() time.Time, newID func(prefix string) string, log *slog.Logger) (func() time.Time, func(prefix string) string, *slog.Logger) {
	if now == nil {
		now = time.Now
	}
	if newID == nil {
		newID = ids.New
	}
	if log == nil {
		log = slog.Default()
	}
	return now, newID, log
}
