package conversations

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The keys of conversations in an organization's namespace:
//
//	v/c/{conversation}          the conversation's creation time and metadata
//	v/h/{conversation}          its head: the next sequence number, and the lineage to continue from
//	v/i/{conversation}/{seq}    an item, its number (lineage.go) in 8 bytes, big-endian
//	v/x/{item}                  where an addressable item is or was: the rest of its key in v/i/
//	v/t/{response}              a turn
//	v/f/{conversation}/{response}/{seq}
//	                            an item of a turn that failed, numbered from 0; no list or history sees it
//	v/r/{response}              the lease of a turn that runs
//	v/e/{conversation}/{response}/{seq}
//	                            a page of the events of a turn, by the number of the first
//	v/q/{conversation}          the turns of several processes that wait for each other
//	v/m/{request}               who runs the call that an approval request asks for
//	v/k                         the key that the organization's sealed texts are sealed with
//	v/y/{conversation}/{key}    a key to remove with the conversation although no item leads to it
//	v/d/{conversation}          a deleted conversation whose other keys are still to be removed
const (
	conversationPrefix = "v/c/"
	headPrefix         = "v/h/"
	itemPrefix         = "v/i/"
	indexPrefix        = "v/x/"
	turnPrefix         = "v/t/"
	incompletePrefix   = "v/f/"
	approvedPrefix     = "v/m/"
	sealKey            = "v/k"
	leasePrefix        = "v/r/"
	eventPrefix        = "v/e/"
	leftoverPrefix     = "v/y/"
	deletedPrefix      = "v/d/"
	queuePrefix        = "v/q/"
)

// maxID is longer than any ID of ours: a longer one exists nowhere.
const maxID = 128

func conversationKey(id string) []byte { return []byte(conversationPrefix + id) }
func headKey(id string) []byte         { return []byte(headPrefix + id) }
func indexKey(item string) []byte      { return []byte(indexPrefix + item) }
func turnKey(id string) []byte         { return []byte(turnPrefix + id) }
func leaseKey(turn string) []byte      { return []byte(leasePrefix + turn) }
func queueKey(id string) []byte        { return []byte(queuePrefix + id) }
func approvedKey(id string) []byte     { return []byte(approvedPrefix + id) }
func deletedKey(id string) []byte      { return []byte(deletedPrefix + id) }

// itemsOf is the prefix of a conversation's items.
func itemsOf(conversation string) []byte { return []byte(itemPrefix + conversation + "/") }

// incompleteItemsOf is the prefix of the items of a conversation's failed turns, or of
// one of them.
func incompleteItemsOf(conversation, turn string) []byte {
	prefix := incompletePrefix + conversation + "/"
	if turn != "" {
		prefix += turn + "/"
	}
	return []byte(prefix)
}

// eventsOf is the prefix of the events of a conversation's turns, or of one of
// them.
func eventsOf(conversation, turn string) []byte {
	prefix := eventPrefix + conversation + "/"
	if turn != "" {
		prefix += turn + "/"
	}
	return []byte(prefix)
}

// leftoversOf is the prefix of a conversation's leftovers: the keys that they
// name follow it.
func leftoversOf(conversation string) []byte { return []byte(leftoverPrefix + conversation + "/") }

func leftoverKey(conversation string, key []byte) []byte {
	return append(leftoversOf(conversation), key...)
}

func numbered(prefix []byte, seq uint64) []byte { return binary.BigEndian.AppendUint64(prefix, seq) }

func itemKey(conversation string, seq uint64) []byte { return numbered(itemsOf(conversation), seq) }

// indexValue is the value of an index key: the item's key without its prefix.
func indexValue(conversation string, seq uint64) []byte {
	return itemKey(conversation, seq)[len(itemPrefix):]
}

func parseIndexValue(value []byte) (conversation string, seq uint64, err error) {
	n := len(value) - 9
	if n < 1 || value[n] != '/' {
		return "", 0, errors.New("conversations: malformed item index")
	}
	return string(value[:n]), binary.BigEndian.Uint64(value[n+1:]), nil
}

// seqOf returns the sequence number in an item's key.
func seqOf(key []byte) (uint64, error) {
	if len(key) < 8 {
		return 0, fmt.Errorf("conversations: malformed item key %q", key)
	}
	return binary.BigEndian.Uint64(key[len(key)-8:]), nil
}
