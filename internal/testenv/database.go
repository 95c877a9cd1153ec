package testenv

import (
	"crypto/rand"
	"strings"
	"testing"
)

// sqlServer is a server in which every test can have a database of its own.
type sqlServer interface {
	Running() bool
	URL(database string) string
	CreateDatabase(name string) error
	DropDatabase(name string) error
}

// isolated makes an empty database for one test.
func isolated(t testing.TB, s sqlServer) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text()[:12])
	if err := s.CreateDatabase(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.Running() {
			return // it went with its server
		}
		if err := s.DropDatabase(name); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}
