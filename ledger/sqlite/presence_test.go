package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rushgate"
)

// Whoever removes or replaces the files under a running server is found out
// before anybody is told that a claim was recorded.
func TestFilesThatAreRemovedOrReplaced(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"folder removed":    os.RemoveAll,
		"database removed":  func(dir string) error { return os.Remove(filepath.Join(dir, fileName)) },
		"lock removed":      func(dir string) error { return os.Remove(filepath.Join(dir, lockName)) },
		"database replaced": func(dir string) error { return replace(filepath.Join(dir, fileName)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			l, err := Open(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			put := func(id int64, sale string) error {
				return l.Record(t.Context(), &rushgate.Batch{ID: id, Steps: []rushgate.Step{&rushgate.Put{Kind: rushgate.SaleCreated,
					Sale: &rushgate.Sale{ID: sale, Ack: rushgate.Recorded, Epoch: 1, Items: []rushgate.Item{{ID: "a"}}}}}})
			}
			if err := put(1, "before"); err != nil {
				t.Fatal(err)
			}
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			err = put(2, "after") // the folder may come back, with this batch: it is not known
			if !errors.Is(err, ErrGone) || !errors.Is(err, rushgate.ErrLost) || !errors.Is(err, rushgate.ErrUnknown) {
				t.Errorf("a batch: %v, want ErrGone, and ErrUnknown", err)
			}
			if l.doubt(); !errors.Is(put(3, "in doubt"), ErrGone) {
				t.Error("a doubt was settled with other files")
			}
			if _, err := l.Sales(t.Context()); !errors.Is(err, ErrGone) {
				t.Errorf("a read: %v, want ErrGone", err)
			}
		})
	}
}

// replace puts a copy of a file in its place.
func replace(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
