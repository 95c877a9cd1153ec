package load

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Hardware describes this machine in a line: a rate without it says nothing.
func Hardware() string {
	cpu := Proc("/proc/cpuinfo", "model name")
	if cpu == "" {
		cpu = "unknown processor"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s", cpu, runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// Proc returns the value of the first line "name: value" of a file in /proc,
// and nothing where there is none.
func Proc(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
