package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// address is where a Redis is, as a URL says it:
//
//	redis://[user:password@]host[:port][,host[:port]…][/db][?sentinel=NAME&prefix=…&replicas=N]
//
// rediss:// speaks TLS. Several hosts are nodes of a cluster, or the sentinels
// of the master NAME. A single host may be a cluster's too.
type address struct {
	hosts          []string
	user, password string
	db             int
	sentinel       string
	prefix         string
	replicas       int
	secure         bool
}

// String names the hosts, without secrets.
func (a *address) String() string { return strings.Join(a.hosts, ",") }

func parseURL(s string) (*address, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme != "redis" && scheme != "rediss" {
		return nil, errors.New("the Redis URL must begin with redis:// or rediss:// (TLS)")
	}
	a := &address{secure: scheme == "rediss"}
	rest, query, _ := strings.Cut(rest, "?")
	if err := a.options(query); err != nil {
		return nil, err
	}
	hosts, db, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		if err := a.credentials(hosts[:i]); err != nil {
			return nil, err
		}
		hosts = hosts[i+1:]
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if err := a.host(host); err != nil {
			return nil, err
		}
	}
	if db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 || n > 1<<16 {
			return nil, fmt.Errorf("the Redis URL names the database %q: it must be a number", db)
		}
		a.db = n
	}
	if a.db != 0 && len(a.hosts) > 1 && a.sentinel == "" {
		return nil, errors.New("a Redis cluster has the database 0 alone: leave it out of the URL")
	}
	return a, nil
}

// credentials reads user:password. Neither is ever told in an error.
func (a *address) credentials(s string) error {
	user, password, _ := strings.Cut(s, ":")
	var errs [2]error
	a.user, errs[0] = url.PathUnescape(user)
	a.password, errs[1] = url.PathUnescape(password)
	if errs[0] != nil || errs[1] != nil {
		return errors.New("the user or the password in the Redis URL is not escaped well: write % as %25, @ as %40, / as %2F")
	}
	return nil
}

func (a *address) host(s string) error {
	if s == "" {
		return errors.New("the Redis URL names no host: redis://host:port")
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		host, port = strings.Trim(s, "[]"), "6379"
		if a.sentinel != "" {
			port = "26379"
		}
	}
	if n, err := strconv.Atoi(port); host == "" || err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("the Redis URL names %q: it must be host:port", s)
	}
	a.hosts = append(a.hosts, net.JoinHostPort(host, port))
	return nil
}

// options reads what stands behind the question mark.
func (a *address) options(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what stands behind ? in the Redis URL is not name=value&…")
	}
	for name, list := range values {
		value := list[len(list)-1]
		switch name {
		case "sentinel":
			a.sentinel = value
		case "prefix":
			if !validPrefix(value) {
				return fmt.Errorf("prefix in the Redis URL must be 1 to %d visible ASCII characters without braces", maxPrefix)
			}
			a.prefix = value
		case "replicas":
			if a.replicas, err = strconv.Atoi(value); err != nil || a.replicas < 1 || a.replicas > maxReplicas {
				return fmt.Errorf("replicas in the Redis URL must be 1 to %d", maxReplicas)
			}
		default:
			return fmt.Errorf("the Redis URL has an unknown option %q: there are sentinel, prefix and replicas", name)
		}
	}
	return nil
}

// settle writes what the URL says into the options.
func (a *address) settle(o *Options) {
	if a.prefix != "" {
		o.Prefix = a.prefix
	}
	if a.replicas != 0 {
		o.Replicas = a.replicas
	}
}

// client returns how rueidis connects. It repeats nothing by itself: this gate
// does, because it knows that its scripts can be asked twice.
func (a *address) client(o *Options) rueidis.ClientOption {
	c := rueidis.ClientOption{
		InitAddress: a.hosts, Username: a.user, Password: a.password, SelectDB: a.db, ClientName: "rushgate",
		DisableCache: true, DisableRetry: true, BlockingPoolSize: 64,
		Dialer: net.Dialer{Timeout: o.Timeout}, ConnWriteTimeout: 2 * o.Timeout,
		// A redirect is followed within one attempt, not for ever.
		ClusterOption: rueidis.ClusterOption{MaxMovedRedirections: 8, ShardsRefreshInterval: 10 * time.Second},
	}
	if a.secure {
		c.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if a.sentinel != "" {
		c.Sentinel = rueidis.SentinelOption{MasterSet: a.sentinel, TopologyRefreshInterval: 5 * time.Second,
			Dialer: c.Dialer, TLSConfig: c.TLSConfig, Username: a.user, Password: a.password}
	}
	return c
}
