package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rushgate/bench/load"
)

//go:embed claim.lua
var claimScript []byte

func (b *bench) script() string { return filepath.Join(b.dir, "claim.lua") }

// wrkResult is what claim.lua prints.
type wrkResult struct {
	Micros   int64 `json:"micros"`
	Requests int64 `json:"requests"` // answered
	Refused  int64 `json:"refused"`  // with a status above 399
	Connect  int64 `json:"connect"`
	Read     int64 `json:"read"`
	Write    int64 `json:"write"`
	Timeout  int64 `json:"timeout"`
	P50      int64 `json:"p50"` // µs
	P99      int64 `json:"p99"`

	cpu time.Duration // that wrk itself used
}

// wrk runs Debian's wrk against a server for d, rounded up to whole seconds.
func (b *bench) wrk(ctx context.Context, s *server, connections int, names load.Names, d time.Duration) (*wrkResult, error) {
	seconds := int(math.Ceil(d.Seconds()))
	ctx, cancel := context.WithTimeout(ctx, d+30*time.Second)
	defer cancel()
	threads := strconv.Itoa(min(2, b.result.Machine.Cores))
	cmd := exec.CommandContext(ctx, "wrk", "-t"+threads, "-c"+strconv.Itoa(connections), "-d"+strconv.Itoa(seconds)+"s",
		"--timeout", "10s", "-s", b.script(), s.url, "--",
		string(names), fmt.Sprintf("%06x", b.nextSeed()&0xffffff), "/v1/sales/"+saleID+"/claims", itemID)
	said, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w\n%s", err, said)
	}
	_, line, ok := strings.Cut(string(said), "RESULT ")
	if !ok {
		return nil, fmt.Errorf("wrk said no result:\n%s", said)
	}
	line, _, _ = strings.Cut(line, "\n")
	r := &wrkResult{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if err := json.Unmarshal([]byte(line), r); err != nil {
		return nil, fmt.Errorf("wrk's result %q: %w", line, err)
	}
	if bad := r.Connect + r.Read + r.Write + r.Timeout; bad > 0 {
		return nil, fmt.Errorf("wrk had %d broken connections: %s", bad, line)
	}
	return r, nil
}
