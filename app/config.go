package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"rushgate"
)

// Config is what `rushgate serve` can be told: by a flag, by the environment
// variable RUSHGATE_… of the same name, or by a key of the --config file. The
// tags are those of github.com/alecthomas/kong; Defaults has the same defaults
// for programs.
type Config struct {
	Listen string `env:"RUSHGATE_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to serve on. Port 0 takes a free one."`
	Data   string `env:"RUSHGATE_DATA" default:"./rushgate-data" placeholder:"FOLDER" help:"Folder of the embedded ledger and of the admin token; made if it is not there."`
	Ledger string `env:"RUSHGATE_LEDGER" default:"sqlite" placeholder:"sqlite|URL" help:"Where claims are recorded: sqlite (in the data folder), postgres://user:password@host/database or mysql://user:password@host/database. Everybody on this machine can read a flag: prefer the environment for a URL with a password."`
	Gate   string `env:"RUSHGATE_GATE" default:"memory" placeholder:"memory|URL" help:"Who decides claims: memory (rebuilt from the ledger; with a ledger on a server one node leads and the others stand by) or redis://host:port[,host:port] (every node sells)."`

	Node       string        `env:"RUSHGATE_NODE" placeholder:"NAME" help:"What the other nodes call this one. Default: the host's name."`
	Lease      time.Duration `env:"RUSHGATE_LEASE" default:"3s" help:"With a ledger on a server: how long a node that is silent keeps its place; then another one takes it."`
	AdoptAfter time.Duration `env:"RUSHGATE_ADOPT_AFTER" default:"5s" help:"With a Redis gate: how long a claim may wait to be recorded by the node that granted it; then others do it."`

	AdminToken string `env:"RUSHGATE_ADMIN_TOKEN" placeholder:"TOKEN" help:"Bearer token of the admin API. Default: made on first start and kept in DATA/admin-token."`

	Identity    string   `env:"RUSHGATE_IDENTITY" placeholder:"KIND" help:"How buyers are known: dev (the body's user is believed; loopback only), backend (your server sends an API key and names the user) or jwt (the token's sub is the user). Default: dev on a loopback address."`
	BackendKey  []string `env:"RUSHGATE_BACKEND_KEY" placeholder:"KEY" sep:"," help:"API key of your server, for --identity backend; give several to change keys without a gap."`
	JWTSecret   string   `env:"RUSHGATE_JWT_SECRET" name:"jwt-secret" placeholder:"SECRET" help:"HS256 secret of at least 32 bytes, for --identity jwt. Everybody on this machine can read a flag: prefer the environment or --jwt-secret-file."`
	JWTFile     string   `env:"RUSHGATE_JWT_SECRET_FILE" name:"jwt-secret-file" placeholder:"FILE" help:"File that holds the HS256 secret."`
	JWTJWKS     string   `env:"RUSHGATE_JWT_JWKS" name:"jwt-jwks" placeholder:"URL|FILE" help:"JSON Web Key Set with the public keys (RS256, ES256, EdDSA)."`
	JWTIssuer   string   `env:"RUSHGATE_JWT_ISSUER" name:"jwt-issuer" placeholder:"ISS" help:"Required issuer of tokens."`
	JWTAudience string   `env:"RUSHGATE_JWT_AUDIENCE" name:"jwt-audience" placeholder:"AUD" help:"Required audience of tokens."`

	Drain           time.Duration `env:"RUSHGATE_DRAIN" default:"3s" help:"With a Redis gate: how long a node that is told to stop still serves, while /readyz sends the balancer to the others. 0: not at all."`
	ShutdownTimeout time.Duration `env:"RUSHGATE_SHUTDOWN_TIMEOUT" default:"10s" help:"How long a stop may take: what was accepted is finished first."`
	Queue           int           `env:"RUSHGATE_QUEUE" default:"16384" help:"Claims that may wait; above it the answer is overloaded, at once."`
	Connections     int           `env:"RUSHGATE_CONNECTIONS" default:"0" help:"Open connections at the same time; further ones wait outside. 0: as many as the limit of open files allows."`
	AuditEvery      time.Duration `env:"RUSHGATE_AUDIT_EVERY" default:"1m" help:"Pause between two passes of the auditor over all sales."`
}

// Defaults returns the configuration of a server that was told nothing.
func Defaults() Config {
	return Config{Listen: "127.0.0.1:8080", Data: "./rushgate-data", Ledger: ledgerSQLite, Gate: gateMemory,
		Lease: 3 * time.Second, AdoptAfter: 5 * time.Second, Drain: 3 * time.Second, ShutdownTimeout: 10 * time.Second, Queue: 16384, AuditEvery: time.Minute}
}

// The kinds of identity.
const (
	identityDev     = "dev"
	identityBackend = "backend"
	identityJWT     = "jwt"
)

// identity returns the kind that is in force.
func (c *Config) identity() string {
	if c.Identity == "" && loopback(c.Listen) {
		return identityDev
	}
	return c.Identity
}

// Validate says what is wrong, in words that say how to mend it. It reads no
// file and opens no connection: Check does.
func (c *Config) Validate() error {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || port == "" {
		return fmt.Errorf("--listen %q: give HOST:PORT, for example 127.0.0.1:8080 or :8080", c.Listen)
	}
	switch {
	case c.Data == "":
		return errors.New("--data is empty: name a folder for the ledger")
	case c.AdminToken != "" && !validToken(c.AdminToken):
		return fmt.Errorf("--admin-token must be %d to %d visible ASCII characters without spaces", minToken, maxToken)
	case c.ShutdownTimeout <= 0 || c.ShutdownTimeout > time.Hour:
		return fmt.Errorf("--shutdown-timeout %s: must be above 0 and at most 1h", c.ShutdownTimeout)
	case c.Queue < minQueue || c.Queue > 1<<24:
		return fmt.Errorf("--queue %d: must be %d to %d claims", c.Queue, minQueue, 1<<24)
	case c.Connections < 0 || c.Connections > 1<<20:
		return fmt.Errorf("--connections %d: must be 0 (automatic) to %d", c.Connections, 1<<20)
	case c.AuditEvery < time.Second || c.AuditEvery > 24*time.Hour:
		return fmt.Errorf("--audit-every %s: must be 1s to 24h", c.AuditEvery)
	}
	for _, check := range []func() error{c.validateLedger, c.validateGate, c.validateNode, c.validateIdentity} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// minQueue is the largest batch that a request may carry: a queue that cannot
// take one would refuse it for ever.
const minQueue = rushgate.MaxBatch

func (c *Config) validateIdentity() error {
	kind := c.identity()
	secrets := 0
	for _, s := range []string{c.JWTSecret, c.JWTFile, c.JWTJWKS} {
		if s != "" {
			secrets++
		}
	}
	switch kind {
	case "":
		return fmt.Errorf("--listen %s can be reached by others, so --identity must say how buyers are known: backend or jwt", c.Listen)
	case identityDev:
		if !loopback(c.Listen) {
			return fmt.Errorf("--identity dev believes everybody and %s can be reached by others: use backend or jwt, or listen on 127.0.0.1", c.Listen)
		}
	case identityBackend:
		if len(c.BackendKey) == 0 {
			return errors.New("--identity backend needs the API key of your server: --backend-key KEY")
		}
		if !every(c.BackendKey, validToken) {
			return fmt.Errorf("--backend-key must be %d to %d visible ASCII characters without spaces", minToken, maxToken)
		}
	case identityJWT:
		if secrets != 1 {
			return errors.New("--identity jwt needs one of --jwt-secret, --jwt-secret-file and --jwt-jwks")
		}
	default:
		return fmt.Errorf("--identity %q: must be dev, backend or jwt", kind)
	}
	if kind != identityBackend && len(c.BackendKey) > 0 {
		return fmt.Errorf("--backend-key is for --identity backend, and the identity is %s", kind)
	}
	if kind != identityJWT && (secrets > 0 || c.JWTIssuer != "" || c.JWTAudience != "") {
		return fmt.Errorf("the --jwt-… flags are for --identity jwt, and the identity is %s", kind)
	}
	return nil
}

func every(texts []string, good func(string) bool) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !good(s) })
}

// loopback says that only this machine can reach the address. A name is
// believed only if it is localhost: what others resolve to may change.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
