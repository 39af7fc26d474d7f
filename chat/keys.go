package chat

// This file builds every key that the package stores under, all in the
// namespace of an organization:
//
//	c/o/<completion ID>   record, JSON: the completion
//	c/m/<completion ID>   messages of its request, JSON
//
// IDs sort by the time they were made, and so do the keys. The messages have
// their own key because they may be large and lists do not need them.
const (
	recordPrefix   = "c/o/"
	messagesPrefix = "c/m/"
)

func recordKey(id string) []byte   { return []byte(recordPrefix + id) }
func messagesKey(id string) []byte { return []byte(messagesPrefix + id) }
