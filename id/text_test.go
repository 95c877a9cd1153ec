package id

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestTextForms(t *testing.T) {
	for _, id := range []ID{0, 1, 31, 32, 1 << 53, math.MaxInt64, 374_981_234_567_890_123} {
		if got, err := Parse(id.String()); err != nil || got != id {
			t.Errorf("%d is read as %d, %v", id, got, err)
		}
		b := id.Base32()
		if got, err := ParseBase32(strings.ToLower(b)); err != nil || got != id || len(b) != 13 {
			t.Errorf("%q is read as %d, %v", b, got, err)
		}
		j, err := json.Marshal(map[ID]ID{id: id})
		var back map[ID]ID
		if err != nil || json.Unmarshal(j, &back) != nil || back[id] != id || string(j) != `{"`+id.String()+`":"`+id.String()+`"}` {
			t.Errorf("%d is %s in JSON, %v", id, j, err)
		}
	}
	if got, err := ParseBase32("000000000loi1"); err != nil || got != 1<<15+1<<5+1 {
		t.Errorf("letters that look like digits: %d, %v", got, err)
	}
	for _, bad := range []string{"", "-1", "+1", "01", " 1", "1 ", "1_000", "0x1", "9223372036854775808", "١", strings.Repeat("1", 5000)} {
		if _, err := Parse(bad); !errors.Is(err, ErrText) || len(err.Error()) > 200 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "0", "000000000000U", "000000000000-", "8000000000000", "ZZZZZZZZZZZZZ", "00000000000000"} {
		if _, err := ParseBase32(bad); !errors.Is(err, ErrText) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	var id ID = 7
	for _, bad := range []string{`7`, `7.0`, `1e3`, `""`, `"-1"`, `true`, `{}`} {
		if err := json.Unmarshal([]byte(bad), &id); err == nil || id != 7 {
			t.Errorf("%s: %d, %v", bad, id, err)
		}
	}
	if _, err := json.Marshal(ID(-1)); !errors.Is(err, ErrText) {
		t.Errorf("a negative id: %v", err)
	}
}

func TestScan(t *testing.T) {
	for src, want := range map[any]ID{int64(5): 5, "6": 6} {
		var id ID
		if err := id.Scan(src); err != nil || id != want {
			t.Errorf("%v: %d, %v", src, id, err)
		}
	}
	id := ID(3)
	if err := id.Scan([]byte("9")); err != nil || id != 9 {
		t.Errorf("bytes: %d, %v", id, err)
	}
	for _, bad := range []any{nil, int64(-1), 5.0, "x", []byte{}, true} {
		if err := id.Scan(bad); !errors.Is(err, ErrText) || id != 9 {
			t.Errorf("%v: %d, %v", bad, id, err)
		}
	}
	if _, err := ID(-1).Value(); !errors.Is(err, ErrText) {
		t.Errorf("a negative value: %v", err)
	}
	u := NewUUIDs(nil).Next()
	for _, src := range []any{u.String(), []byte(u.String()), u[:]} {
		var got UUID
		if err := got.Scan(src); err != nil || got != u {
			t.Errorf("%v: %s, %v", src, got, err)
		}
	}
	if err := u.Scan(nil); !errors.Is(err, ErrText) {
		t.Errorf("NULL: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "1", "9223372036854775807", "00", "-1", "1e5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := Parse(s); err == nil && (id < 0 || id.String() != s) {
			t.Errorf("%q is read as %d", s, id)
		}
	})
}

func FuzzParseBase32(f *testing.F) {
	for _, s := range []string{"0000000000000", "7ZZZZZZZZZZZZ", "oOiIlL0000000", "8000000000000"} {
		f.Add(s)
	}
	canonical := strings.NewReplacer("O", "0", "I", "1", "L", "1")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParseBase32(s); err == nil && (id < 0 || id.Base32() != canonical.Replace(strings.ToUpper(s))) {
			t.Errorf("%q is read as %d", s, id)
		}
	})
}

func FuzzParseUUID(f *testing.F) {
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
	f.Add("017f22e2-79b0-7cc3-98c4-dc0c0c07398")
	f.Fuzz(func(t *testing.T, s string) {
		if u, err := ParseUUID(s); err == nil && u.String() != strings.ToLower(s) {
			t.Errorf("%q is read as %s", s, u)
		}
	})
}

// FuzzDecode: whatever number comes in, time and node are within their bounds,
// and give the id's place back.
func FuzzDecode(f *testing.F) {
	f.Add(int64(0), uint8(0))
	f.Add(int64(math.MaxInt64), uint8(10))
	f.Fuzz(func(t *testing.T, n int64, bits uint8) {
		l, id := Standard(int(bits%(MaxNodeBits+1))), ID(n&math.MaxInt64)
		if node := l.Node(id); node < 0 || node >= l.Nodes() {
			t.Errorf("%d: node %d", id, node)
		}
		if least := l.Least(l.Time(id)); least != id>>lowBits<<lowBits {
			t.Errorf("%d: its time begins with %d", id, least)
		}
	})
}

func TestBase32SortsAsIDs(t *testing.T) {
	ids := []ID{0, 9, 10, 17, 18, 31, 32, 1 << 40, 1 << 62, math.MaxInt64}
	var text []string
	for _, id := range ids {
		text = append(text, id.Base32())
	}
	if !slices.IsSorted(text) {
		t.Errorf("%q", text)
	}
}
