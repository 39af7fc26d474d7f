package accounts

import (
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
//	a/d/<organization ID>                deletion, JSON: an organization that is deleted
//
// In the namespace of an organization:
//
//	a/c                                  checkpoint of the ledger, JSON
//	a/e/<sequence number, 8 bytes>       entry of the ledger, JSON
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
	checkpointName     = "a/c"
	entryPrefix        = "a/e/"
)

func organizationKey(id string) []byte { return []byte(organizationPrefix + id) }

func keyKey(id string) []byte { return []byte(keyPrefix + id) }

func hashKey(h keyHash) []byte { return append([]byte(hashPrefix), h[:]...) }

// keysOf is the prefix of an organization's entries of organizationKeys.
func keysOf(organization string) string { return organizationKeys + organization + "/" }

func lastUsedKey(id string) []byte { return []byte(lastUsedPrefix + id) }

func auditKey(id string) []byte { return []byte(auditPrefix + id) }

func deletionKey(organization string) []byte { return []byte(deletionPrefix + organization) }

func checkpointKey() []byte { return []byte(checkpointName) }

func entryKey(sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(entryPrefix), sequence)
}

// entrySequence is the inverse of entryKey.
func entrySequence(key []byte) uint64 {
	return binary.BigEndian.Uint64(key[len(entryPrefix):])
}
