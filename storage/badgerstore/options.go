package badgerstore

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/dgraph-io/badger/v4"

	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// valueThreshold is from how many bytes on a value goes to the value log.
	// Below lie all records, above the chunks of files.
	valueThreshold = storage.SmallValue + 1

	// valueLogFile is the size at which a file of the value log is full, and so
	// about how much is rewritten at once to reclaim space.
	valueLogFile = 256 << 20

	// blockCache keeps blocks of the tree uncompressed.
	blockCache = 32 << 20

	// overhead is at least what badger counts for a write beside key and value:
	// the namespace, the version and a few bytes more.
	overhead = 1 + storage.MaxNamespace + 8 + 16

	// memTable is how many bytes badger collects before it writes a table. It
	// takes 15% of that in one transaction and must take the largest of ours, of
	// which values in the value log are no part. It allocates all of it at once.
	memTable = (storage.MaxTxSmall + storage.MaxTxWrites*overhead) * 100 / 15
)

// badgerOptions returns how badger is run: it checks no conflicts and hands out
// no versions, since package occ does, and each of its commits is synced.
func badgerOptions(dir string, log *slog.Logger) badger.Options {
	return badger.DefaultOptions(dir).
		WithLogger(logger{log}).
		WithSyncWrites(true).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithMemTableSize(memTable).
		WithNumMemtables(2).
		WithNumCompactors(2).
		WithBlockCacheSize(blockCache).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(valueLogFile)
}

// logger is badger's logger over slog.
type logger struct{ to *slog.Logger }

func (l logger) Errorf(format string, args ...any)   { l.log(slog.LevelError, format, args) }
func (l logger) Warningf(format string, args ...any) { l.log(slog.LevelWarn, format, args) }
func (l logger) Infof(format string, args ...any)    { l.log(slog.LevelDebug, format, args) }
func (l logger) Debugf(format string, args ...any)   { l.log(slog.LevelDebug, format, args) }

func (l logger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.to.Enabled(ctx, level) {
		l.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
