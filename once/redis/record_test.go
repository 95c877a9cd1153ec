package redis

import (
	"testing"
	"time"
)

// FuzzRecord: whatever Redis has, decoding a record or a toggle does not break.
func FuzzRecord(f *testing.F) {
	f.Add("r 1763740800000000 1 - 0123456789abcdef 1763740830000000 0")
	f.Add("d 1763740800000000 2 0123 0123456789abcdef\nvalue")
	f.Add("- 1 1 - a\n")
	f.Add("+123")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := decode(text, time.Unix(1763740800, 0)); err == nil && (s.Left < 0 || s.Value != nil && s.Left > 0) {
			t.Fatalf("%q is %+v", text, s)
		}
		if s, err := decodeStanding(text); err == nil && s.Seq < 1 {
			t.Fatalf("%q is %+v", text, s)
		}
	})
}
