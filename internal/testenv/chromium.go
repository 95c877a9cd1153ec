package testenv

import "testing"

// Chromium returns where the browser is. Whoever runs it ends it.
func Chromium(t testing.TB) string {
	t.Helper()
	path, err := find("chromium", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
