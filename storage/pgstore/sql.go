package pgstore

import "github.com/seed-506d8e5d/svc/storage"

// The statements that transactions use. Each connection prepares them once.
const (
	beginUpdate  = "begin isolation level serializable"
	beginView    = "begin isolation level repeatable read read only"
	commitWork   = "commit"
	rollbackWork = "rollback"

	selectNow  = "select clock_timestamp()"
	selectOne  = "select value from kv where ns = $1 and key = $2"
	selectMany = "select key, value from kv where ns = $1 and key = any($2::bytea[])"
	onConflict = " on conflict (ns, key) do update set value = excluded.value"
	upsertOne  = "insert into kv (ns, key, value) values ($1, $2, $3)" + onConflict
	upsertMany = "insert into kv (ns, key, value) select $1, k, v from unnest($2::bytea[], $3::bytea[]) as w (k, v)" + onConflict
	deleteMany = "delete from kv where ns = $1 and key = any($2::bytea[])"

	// The first write of a transaction inserts its commit record, too.
	firstUpsert     = "with record as (insert into kv_marks (mark, outcome) values ($4, $5)) " + upsertMany
	firstDeleteMany = "with record as (insert into kv_marks (mark, outcome) values ($3, $4)) " + deleteMany

	resolveRecord    = "insert into kv_marks (mark, outcome) values ($1, $2) on conflict (mark) do update set outcome = kv_marks.outcome returning outcome"
	deleteRecords    = "delete from kv_marks where mark >= $1 and mark < $2 and outcome = $3"
	deleteOldRecords = "delete from kv_marks where mark < $1"
)

// prepared returns them.
func prepared() []string {
	all := []string{beginUpdate, beginView, commitWork, rollbackWork, selectNow, selectOne, selectMany, upsertOne, deleteMany, firstUpsert, firstDeleteMany}
	for i := range 8 {
		r := storage.Range{Reverse: i&1 != 0, KeysOnly: i&2 != 0}
		if i&4 != 0 {
			r.End = []byte{}
		}
		all = append(all, selectPage(r))
	}
	return all
}

// selectPage returns the statement for a page of a range: in the namespace $1, from
// the key $2 on, up to $3 entries, before the key $4 if the range has an end.
func selectPage(r storage.Range) string {
	columns, order, end := "key, value", "key", ""
	if r.KeysOnly {
		columns = "key"
	}
	if r.Reverse {
		order = "key desc"
	}
	if r.End != nil {
		end = " and key < $4"
	}
	return "select " + columns + " from kv where ns = $1 and key >= $2" + end + " order by " + order + " limit $3"
}

// ownNamespace holds the store's own rows. No other namespace is empty.
const ownNamespace = ""

const (
	versionKey = "version"
	healthKey  = "health"

	// formatVersion is the version of the tables. A database of another one is not
	// opened.
	formatVersion = "1"

	selectAll  = "select ns, key, value from kv where ns > ''::bytea and (ns, key) > ($1, $2) order by ns, key limit $3"
	selectKeys = "select ns, key from kv where ns > ''::bytea and (ns, key) > ($1, $2) order by ns, key limit $3"
)
