package oncehttp

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// FuzzAnswer: whatever a store has, decoding does not break; and what can be
// decoded comes back the same.
func FuzzAnswer(f *testing.F) {
	whole, _ := (&answer{Status: 201, Header: http.Header{"A": {"b\xe9"}, "C": {}}, body: []byte("c")}).encode()
	f.Add(whole)
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := decode(b)
		if err != nil {
			return
		}
		again, err := a.encode()
		if err != nil {
			t.Fatal(err)
		}
		c, err := decode(again)
		if err != nil || c.Status != a.Status || !bytes.Equal(c.body, a.body) || !reflect.DeepEqual(c.Header, a.Header) {
			t.Fatalf("%+v comes back as %+v, %v", a, c, err)
		}
	})
}

// FuzzKey: a key that is taken is a name, and comes back the same in quotes.
func FuzzKey(f *testing.F) {
	for _, text := range []string{`"a"`, "a", `"a\"b\\"`, `"a";b`, ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := keyOf(http.Header{Header: {text}})
		if err != nil || key == "" {
			return
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := keyOf(http.Header{Header: {quoted}}); err != nil || again != key {
			t.Fatalf("%q is %q, and in quotes %q, %v", text, key, again, err)
		}
	})
}
