package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"rushgate/bench/load"
)

// Machine is what the numbers were measured on.
type Machine struct {
	CPU     string  `json:"cpu"`
	Cores   int     `json:"cores"` // that this program may use
	MemGiB  float64 `json:"memory_gib"`
	System  string  `json:"system"`
	Go      string  `json:"go"`
	Commit  string  `json:"commit"`
	Disk    string  `json:"disk"`     // file system of the data folder
	FsyncMs float64 `json:"fsync_ms"` // median of appending 4 KiB and fsync
}

func describe(ctx context.Context, dir string) (*Machine, error) {
	m := &Machine{CPU: load.Proc("/proc/cpuinfo", "model name"), Cores: runtime.GOMAXPROCS(0), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH}
	var kib float64
	if _, err := fmt.Sscan(load.Proc("/proc/meminfo", "MemTotal"), &kib); err == nil {
		m.MemGiB = float64(int(kib/(1<<20)*10)) / 10
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", kernel " + strings.TrimSpace(string(release))
	}
	// Without git the commit stays empty; nothing else depends on it.
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(commit))
	}
	if kind, err := exec.CommandContext(ctx, "stat", "-f", "-c", "%T", dir).Output(); err == nil {
		m.Disk = strings.TrimSpace(string(kind))
	}
	var err error
	m.FsyncMs, err = fsync(dir)
	return m, err
}

// fsync measures what durability costs here at least.
func fsync(dir string) (ms float64, err error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var took []float64
	for range 50 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// durability says what an acknowledgement of Rushgate has survived here.
func (m *Machine) durability() string {
	level := "recorded: committed in SQLite, WAL, synchronous=FULL, before the answer"
	if m.Disk == "tmpfs" || m.Disk == "ramfs" {
		return level + "; but the data folder is in memory, where fsync does nothing: use --data"
	}
	return fmt.Sprintf("%s (fsync of 4 KiB: %.2f ms)", level, m.FsyncMs)
}

func (m *Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %.1f GiB, %s, %s, %s, commit %s", m.CPU, m.Cores, m.MemGiB, m.System, m.Disk, m.Go, m.Commit)
}
