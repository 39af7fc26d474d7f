package badgerstore

import (
	"log/slog"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"github.com/seed-506d8e5d/svc/storage"
)

const (
	// valueThreshold is from how many bytes on a value goes to the value log.
	// Below lie all records, above the chunks of files.
	valueThreshold = storage.SmallValue + 1

	// valueLogFile is the size at which a file of the value log is full, and so
	// about how much is rewritten at once to reclaim space, while writes wait.
	valueLogFile = 16 << 20

	// blockCache keeps blocks of the tree uncompressed.
	blockCache = 8 << 20

	// memTable is how many bytes badger collects before it writes a table. It
	// allocates all of it at once, and the log keeps about as much.
	memTable = 2 << 20

	// tableSize is how large tables are. Badger keeps the memory of eight of them
	// that it has built, twice the size of each and more where one is larger.
	tableSize = 256 << 10

	// newTables is how many tables are compacted at once.
	newTables = 10

	// baseLevel is how large the tree grows before there is a further level, for
	// which everything is written once more.
	baseLevel = 16 << 20
)

// badgerOptions returns how badger is run: it checks no conflicts and hands out
// no versions, since package occ does, and it syncs no commits, since the log is
// there for that. It takes two compactors or none.
func badgerOptions(dir string, log *slog.Logger) badger.Options {
	opts := badger.DefaultOptions(dir).
		WithLogger(&logger{to: log}).
		WithSyncWrites(false).
		WithBypassLockGuard(bypassLock).
		WithVerifyValueChecksum(true).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithMemTableSize(memTable).
		WithBaseTableSize(tableSize).
		WithNumLevelZeroTables(newTables).
		WithNumLevelZeroTablesStall(3 * newTables).
		WithBaseLevelSize(baseLevel).
		WithNumMemtables(2).
		WithNumCompactors(2).
		WithBlockCacheSize(blockCache).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(valueLogFile)
	opts.TableSizeMultiplier = 2
	return opts
}
