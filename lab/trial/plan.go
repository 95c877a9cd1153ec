package trial

import (
	"fmt"
	"time"
)

// Plan is what every way has to sell, and to whom.
type Plan struct {
	Stock       int           `json:"stock"`
	Buyers      int           `json:"buyers"`
	Connections int           `json:"connections"` // buyers who are served at the same time
	Think       time.Duration `json:"think"`       // a buyer waits so long before asking, at most
	Duration    time.Duration `json:"duration"`    // of one sale, at most

	Crash    bool `json:"crash"`
	Pause    bool `json:"pause"`
	Failover bool `json:"failover"` // of Redis
	Admin    bool `json:"admin"`
}

// Bounds of a plan. A lab is not a load test: what it shows it shows with
// thousands.
const (
	MaxStock       = 1_000_000
	MaxBuyers      = 1_000_000
	MaxConnections = 1024
	MaxDuration    = time.Minute
)

// Defaults returns the plan of a lab that was told nothing: all ways, on all
// servers, in under five minutes on two cores.
func Defaults() Plan {
	return Plan{Stock: 1000, Buyers: 5000, Connections: 64, Duration: 5 * time.Second,
		Crash: true, Pause: true, Failover: true, Admin: true}
}

// Validate says what is wrong with a plan, in the words of the command line.
func (p *Plan) Validate() error {
	switch {
	case p.Stock < 1:
		return fmt.Errorf("--stock %d: must be 1 to %d; with nothing to sell there is nothing to see", p.Stock, MaxStock)
	case p.Stock > MaxStock:
		return fmt.Errorf("--stock %d: must be 1 to %d", p.Stock, MaxStock)
	case p.Buyers < 1 || p.Buyers > MaxBuyers:
		return fmt.Errorf("--buyers %d: must be 1 to %d", p.Buyers, MaxBuyers)
	case p.Connections < 1 || p.Connections > MaxConnections:
		return fmt.Errorf("--connections %d: must be 1 to %d", p.Connections, MaxConnections)
	case p.Think < 0 || p.Think > time.Second:
		return fmt.Errorf("--think %s: must be 0s to 1s", p.Think)
	case p.Duration < 100*time.Millisecond || p.Duration > MaxDuration:
		return fmt.Errorf("--duration %s: must be 100ms to %s, for each sale of each way", p.Duration, MaxDuration)
	}
	return nil
}
