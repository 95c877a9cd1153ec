package app

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
)

// TuneMemory sets the garbage collector of this process up for a server whose
// heap is small beside its rate of allocation: it collects at five times the
// live heap instead of twice, and as often as it takes once the heap nears
// three quarters of the memory that this process may use. GOGC and GOMEMLIMIT
// in the environment win. Only a main calls it: the setting is the process's.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(usableMemory() / 4 * 3)
	}
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
