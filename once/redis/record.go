package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"rushgate/once"
)

// A record is a text, so that a million of them take as little as they can:
//
//	r TOKEN NUMBER FINGERPRINT OWNER ENDS WAITS       an attempt has the key
//	d TOKEN NUMBER FINGERPRINT OWNER\nVALUE           there is a result
//	f TOKEN NUMBER FINGERPRINT OWNER\nTEXT            it has failed for ever
//	- TOKEN NUMBER FINGERPRINT OWNER\n                the last attempt failed
//
// ENDS is when the lease ends, in microseconds of Redis' clock; WAITS is 1 when
// somebody waits to be told of the end. FINGERPRINT is - for none.

// known is what a record says.
type known struct {
	once.State
	fingerprint string
}

// decode reads a record. now is Redis' clock; it matters for r alone.
func decode(record string, now time.Time) (known, error) {
	head, value, kept := strings.Cut(record, "\n")
	fields := strings.Split(head, " ")
	var s known
	var err error
	if len(fields) < 5 {
		return s, malformed(record)
	}
	s.fingerprint = fields[3]
	if s.Token, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
		return s, malformed(record)
	}
	if s.Number, err = strconv.Atoi(fields[2]); err != nil {
		return s, malformed(record)
	}
	switch {
	case fields[0] == "r" && len(fields) == 7 && !kept:
		micros, err := strconv.ParseInt(fields[5], 10, 64)
		if err != nil {
			return s, malformed(record)
		}
		if s.Left = time.UnixMicro(micros).Sub(now); s.Left > 0 {
			s.Phase = once.Busy
		} else {
			s.Left = 0
		}
	case fields[0] == "d" && len(fields) == 5 && kept:
		s.Phase, s.Value = once.Done, []byte(value)
	case fields[0] == "f" && len(fields) == 5 && kept:
		s.Phase, s.Value = once.Failed, []byte(value)
	case fields[0] == "-" && len(fields) == 5 && kept:
	default:
		return s, malformed(record)
	}
	return s, nil
}

func malformed(record string) error {
	return fmt.Errorf("once: Redis has a record that is none of ours: %q", record[:min(len(record), 80)])
}
