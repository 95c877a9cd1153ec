package admission

import "testing"

// FuzzKeySet: a key set from outside yields keys that can verify, or an error.
func FuzzKeySet(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"EC","crv":"P-256","x":"","y":""}]}`))
	f.Add([]byte(`{"keys":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		keys, err := parseKeySet(raw)
		if err != nil {
			return
		}
		for i := range keys {
			if !keys[i].Valid() || !keys[i].IsPublic() {
				t.Fatalf("%q yields a key that is not a valid public one", raw)
			}
		}
	})
}
