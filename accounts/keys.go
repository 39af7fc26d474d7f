package accounts

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/seed-506d8e5d/svc/storage"
)

// This file builds every key that the package stores under.
//
// In the service's own namespace:
//
//	a/o/<organization ID>                organization, JSON
//	a/k/<key ID>                         keyRecord, JSON
//	a/h/<SHA-256 of the key, 32 bytes>   the key's ID
//	a/l/<organization ID>/<key ID>       nothing: the keys of an organization
//	a/u/<key ID>                         when the key was last used, 8 bytes, Unix seconds
//	a/j/<audit entry ID>                 AuditEntry, JSON
//	a/s/<process>                        of package limits
//	a/d/<organization ID>                deletion, JSON: an organization that is deleted
//	a/r/<organization ID>                the number of its log's last entry that was counted, 8 bytes
//	a/t/<organization ID>/<month>/<kind>/<name>   what was used in a month, Sums by day, JSON; without an ID: by all
//
// In the namespace of an organization:
//
//	a/c                                  checkpoint of the ledger, JSON
//	a/c/<process>/<number, 8 bytes>      entry that is not compacted, JSON; the checkpoint and these are read as one range
//	a/e/<sequence number, 8 bytes>       entry of the ledger's log, JSON
//	a/i/<SHA-256 of a key, 32 bytes>     grant: credits that were added with an idempotency key, JSON
//	a/b/<object ID>                      nothing: the object was billed by an entry
//
// Numbers are big-endian, so that they sort.

// system is the service's own namespace.
const system storage.Namespace = "system"

const (
	organizationPrefix = "a/o/"
	keyPrefix          = "a/k/"
	hashPrefix         = "a/h/"
	organizationKeys   = "a/l/"
	lastUsedPrefix     = "a/u/"
	auditPrefix        = "a/j/"
	deletionPrefix     = "a/d/"
	countedPrefix      = "a/r/"
	totalPrefix        = "a/t/"
	checkpointName     = "a/c"
	lanePrefix         = "a/c/"
	entryPrefix        = "a/e/"
	grantPrefix        = "a/i/"
	billedPrefix       = "a/b/"
)

func organizationKey(id string) []byte { return []byte(organizationPrefix + id) }

func keyKey(id string) []byte { return []byte(keyPrefix + id) }

func hashKey(h keyHash) []byte { return append([]byte(hashPrefix), h[:]...) }

// keysOf is the prefix of an organization's entries of organizationKeys.
func keysOf(organization string) string { return organizationKeys + organization + "/" }

func lastUsedKey(id string) []byte { return []byte(lastUsedPrefix + id) }

func auditKey(id string) []byte { return []byte(auditPrefix + id) }

func deletionKey(organization string) []byte { return []byte(deletionPrefix + organization) }

func billedKey(object string) []byte { return []byte(billedPrefix + object) }

func countedKey(organization string) []byte { return []byte(countedPrefix + organization) }

// totalsOfOrganization is the prefix of an organization's totals.
func totalsOfOrganization(id string) []byte { return []byte(totalPrefix + id + "/") }

func totalKey(organization, month, kind, name string) []byte {
	return []byte(totalPrefix + organization + "/" + month + "/" + kind + "/" + name)
}

func checkpointKey() []byte { return []byte(checkpointName) }

func entryKey(sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(entryPrefix), sequence)
}

// entrySequence is the inverse of entryKey.
func entrySequence(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(entryPrefix):])
}

// laneKeys is the prefix of the entries in a process's lane.
func laneKeys(process string) []byte { return []byte(lanePrefix + process + "/") }

func laneKey(process string, number uint64) []byte {
	return binary.BigEndian.AppendUint64(laneKeys(process), number)
}

// parseLaneKey is the inverse of laneKey.
func parseLaneKey(key []byte) (process string, number uint64) {
	end := len(key) - 8
	return string(key[len(lanePrefix) : end-1]), binary.BigEndian.Uint64(key[end:])
}

func grantKey(idempotencyKey string) []byte {
	hash := sha256.Sum256([]byte(idempotencyKey))
	return append([]byte(grantPrefix), hash[:]...)
}
