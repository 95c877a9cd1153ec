package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"rushgate"
	"rushgate/ledger/sqlite"
)

// inChild, when set in the environment, makes the test program a server that
// opens the folder it names, says so, and waits to be killed.
const inChild = "RUSHGATE_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(inChild); dir != "" {
		if _, err := sqlite.Open(context.Background(), dir, sqlite.Options{}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("open")
		select {}
	}
	// Every step of a story of the model is a commit: fewer of them are told
	// here, unless somebody changes this for a hunt.
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// oneLine checks that err is a line that a person can act on.
func oneLine(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func opened(t *testing.T, dir string) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestTwoServersOnOneFolder(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), inChild+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4)
	if _, err := out.Read(said); err != nil || !bytes.Equal(said, []byte("open")) {
		t.Fatalf("the other process said %q, %v", said, err)
	}
	_, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
	oneLine(t, err, dir, fmt.Sprint("process ", child.Process.Pid), "stop that server")
	if !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("not ErrLocked: %v", err)
	}
	if err := child.Process.Kill(); err != nil { // SIGKILL: it cannot tidy up
		t.Fatal(err)
	}
	_ = child.Wait()
	opened(t, dir)
}

func TestTheFolderIsFreeAfterClose(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there yet?", "100%#")
	for range 3 {
		l, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Close(), l.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Sales(t.Context()); err == nil {
			t.Fatal("a closed ledger answers")
		}
		if err := l.Record(t.Context(), &rushgate.Batch{ID: 1}); err == nil {
			t.Fatal("a closed ledger records")
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*")); len(left) != 2 {
		t.Errorf("left behind: %q", left)
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
		oneLine(t, err, dir, "is not a folder")
	}
	_, err := sqlite.Open(t.Context(), "/proc/rushgate-data", sqlite.Options{})
	oneLine(t, err, "/proc/rushgate-data cannot be made")
	_, err = sqlite.OpenReadOnly(t.Context(), filepath.Join(t.TempDir(), "nothing"))
	oneLine(t, err, "there is no ledger in")
	_, err = sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Readers: -1})
	oneLine(t, err, "must not be negative")
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() == 0 { // root may write everywhere but on a read-only file system
		mount(t, dir, "size=4m")
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	oneLine(t, err, dir, "cannot be written")
}

// TestABackupThatCannotBeWritten: a ledger at rest is audited where nothing can
// be written; one whose log would have to be read first is refused.
func TestABackupThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	mounted := os.Getuid() == 0
	if mounted {
		mount(t, dir, "size=4m")
	}
	protect := func(on bool) {
		t.Helper()
		var err error
		mode, flags := os.FileMode(0o700), uintptr(syscall.MS_REMOUNT)
		if on {
			mode, flags = 0o500, flags|syscall.MS_RDONLY
		}
		if mounted {
			err = syscall.Mount("", dir, "", flags, "")
		} else {
			err = os.Chmod(dir, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := opened(t, dir)
	k := newTill(t, l)
	if err := k.sell(10); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "rushgate.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	protect(true)
	backup, err := sqlite.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	k.check(backup)
	if err := backup.Close(); err != nil {
		t.Fatal(err)
	}
	protect(false)
	if err := os.WriteFile(filepath.Join(dir, "rushgate.db-wal"), log, 0o600); err != nil {
		t.Fatal(err)
	}
	protect(true)
	_, err = sqlite.OpenReadOnly(t.Context(), dir)
	oneLine(t, err, dir, "rushgate.db-wal", "copy the folder")
	protect(false)
}

// TestWhatIsNoDatabase: a ledger that was emptied must not start with nothing sold.
func TestWhatIsNoDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"empty":    {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "remove it to begin with nothing sold"},
		"a folder": {func(path string) error { return os.Mkdir(path, 0o700) }, "move it away"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "rushgate.db")
			if err := c.put(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "admin-token"), nil, 0o600); err != nil { // a server has been here
				t.Fatal(err)
			}
			_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			oneLine(t, err, path, c.says)
			_, err = sqlite.OpenReadOnly(t.Context(), dir)
			oneLine(t, err, path, c.says)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			opened(t, dir) // as the line says
		})
	}
}

// TestAFirstStartThatWasKilled: the empty file that it left is no ledger yet.
func TestAFirstStartThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"rushgate.db", "lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opened(t, dir)
}

func TestADamagedDatabase(t *testing.T) {
	for name, spoil := range map[string]func(b []byte) []byte{
		"not a database": func([]byte) []byte { return bytes.Repeat([]byte("no database "), 1000) },
		"overwritten":    func(b []byte) []byte { return append(b[:100], bytes.Repeat([]byte{0xa5}, len(b)-100)...) },
		"cut short":      func(b []byte) []byte { return b[:5000] },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := opened(t, dir)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "rushgate.db")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, spoil(b), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
			oneLine(t, err, path, "restore it from a backup")
			if !errors.Is(err, sqlite.ErrCorrupt) {
				t.Errorf("not ErrCorrupt: %v", err)
			}
		})
	}
}

func TestANewerDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := opened(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	scribble(t, dir, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	oneLine(t, err, dir, "made by a newer Rushgate", "99", "use the newer program")
	if !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("not ErrNewer: %v", err)
	}
	_, err = sqlite.OpenReadOnly(t.Context(), dir)
	oneLine(t, err, "made by a newer Rushgate")
}

func TestTheAuditorReadsBesideTheServer(t *testing.T) {
	dir := t.TempDir()
	server := opened(t, dir)
	put := &rushgate.Put{Sale: &rushgate.Sale{ID: "s", Ack: rushgate.Recorded, Items: []rushgate.Item{{ID: "a", Stock: 5}}}, Kind: rushgate.SaleCreated}
	if err := server.Record(t.Context(), &rushgate.Batch{ID: 1, Steps: []rushgate.Step{put}}); err != nil {
		t.Fatal(err)
	}
	auditor, err := sqlite.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := auditor.Tally(t.Context(), "s"); err != nil || y.Items[0].Total != 5 {
		t.Fatalf("%+v, %v", y, err)
	}
	oneLine(t, auditor.Record(t.Context(), &rushgate.Batch{ID: 2}), "for reading only")
	_, _, err = auditor.Fence(t.Context(), "s", 0)
	oneLine(t, err, "for reading only")
	if err := auditor.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Record(t.Context(), &rushgate.Batch{ID: 2, Steps: []rushgate.Step{&rushgate.Restock{Sale: "s", Item: "a", Add: 1}}}); err != nil {
		t.Fatalf("the server after the auditor has left: %v", err)
	}
}
