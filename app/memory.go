package app

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// TuneMemory sets the garbage collector of this process up for a server whose
// garbage has nothing to do with the size of its heap: requests make it, and the
// heap is what the gate remembers. GOGC and GOMEMLIMIT in the environment win.
// Only a main calls it: the setting is the process's.
func TuneMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(usableMemory() / 4 * 3)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(headroomPercent(0))
		runtime.SetFinalizer(&collection{}, (*collection).ended)
	}
}

// collection is garbage as soon as it is made: each garbage collection finds
// it, and calls ended.
type collection struct{ _ [16]byte }

// ended gives the next collection the head room that fits the heap as it is now.
func (c *collection) ended() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(headroomPercent(live[0].Value.Uint64()))
	runtime.SetFinalizer(c, (*collection).ended)
}

// headroomPercent returns the GOGC for a heap of so many live bytes. Go's 100
// collects a small heap dozens of times a second in a stampede and lets a large
// one double; here a small one may grow by 64 MiB, and a large one by half.
func headroomPercent(live uint64) int {
	const room = 64 << 20
	return int(min(max(room*100/max(live, 1<<20), 50), 1600))
}

// usableMemory returns the bytes that this process may use: those of its
// control group, or of the machine. Where neither is known there is no bound.
func usableMemory() int64 {
	bound := int64(math.MaxInt64)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if raw, err := os.ReadFile(path); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64); err == nil && n > 0 {
				bound = min(bound, n)
			}
		}
	}
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		bound = min(bound, memTotal(raw))
	}
	return bound
}

// memTotal reads the first line of /proc/meminfo: "MemTotal:  2048 kB".
func memTotal(meminfo []byte) int64 {
	line, _, _ := bytes.Cut(meminfo, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 3 && string(fields[0]) == "MemTotal:" {
		if kb, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil && kb > 0 {
			return kb << 10
		}
	}
	return math.MaxInt64
}
