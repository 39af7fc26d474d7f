package pgstore

import (
	"testing"
	"time"
)

// Patient has stores try for minutes what they try for seconds, until the test
// ends: on a machine with much else to do a thousand writers wait for each other
// for longer than a request may.
func Patient(t testing.TB) Options {
	before := settleFor
	settleFor = 5 * time.Minute
	t.Cleanup(func() { settleFor = before })
	return Options{Timeout: 5 * time.Minute}
}
