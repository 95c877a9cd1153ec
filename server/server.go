package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rushgate"
	"rushgate/admission"
)

// Config is what a Server is made of. Service, Identity, AdminToken and Metrics
// are required.
type Config struct {
	Service    *rushgate.Service
	Identity   admission.Identity
	AdminToken string   // the bearer token of the admin API: visible ASCII
	Metrics    *Metrics // made before the Service, which reports to it

	Log *slog.Logger // default: discard

	// Heartbeat returns a channel that ticks while an event stream has
	// nothing to say, and a function that ends it. Default: every 15 seconds.
	Heartbeat func() (ticks <-chan time.Time, stop func())

	// StreamWrite bounds one write to the reader of an event stream; who does
	// not read for longer is cut off. Default 10 seconds.
	StreamWrite time.Duration
}

// Server is the http.Handler of the whole API.
type Server struct {
	service  *rushgate.Service
	identity admission.Identity
	admin    *admission.Keys
	metrics  *Metrics
	log      *slog.Logger
	quiet    damper

	heartbeat   func() (<-chan time.Time, func())
	streamWrite time.Duration

	mux        *http.ServeMux
	crossSite  *http.CrossOriginProtection
	claimRoute *routeStats
	spec       []byte // openapi.json
	pages      *pages

	scratch  sync.Pool // of *scratch
	requests atomic.Uint64
	notReady atomic.Pointer[string]

	stopping chan struct{} // closed by Close
	stop     sync.Once
	streams  streams
}

// New returns a server. Close ends its event streams.
func New(cfg Config) (*Server, error) {
	if cfg.Service == nil || cfg.Identity == nil || cfg.Metrics == nil {
		return nil, errors.New("a server needs a Service, an Identity and Metrics")
	}
	admin, err := admission.NewKeys(cfg.AdminToken)
	if err != nil {
		return nil, errors.New("admin token: it must be visible ASCII characters without spaces")
	}
	s := &Server{service: cfg.Service, identity: cfg.Identity, admin: admin, metrics: cfg.Metrics,
		log: cfg.Log, heartbeat: cfg.Heartbeat, streamWrite: cfg.StreamWrite,
		crossSite: http.NewCrossOriginProtection(), spec: openAPI(), stopping: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.heartbeat == nil {
		s.heartbeat = everyFifteenSeconds
	}
	if s.streamWrite == 0 {
		s.streamWrite = 10 * time.Second
	}
	s.scratch.New = func() any { return newScratch() }
	if s.pages, err = parsePages(s.spec); err != nil {
		return nil, err
	}
	s.route()
	s.metrics.watch(cfg.Service)
	return s, nil
}

// Close ends the event streams and waits for their handlers. Other requests go
// on; http.Server.Shutdown waits for them. It may be called more than once.
func (s *Server) Close() {
	s.stop.Do(func() { close(s.stopping) })
	s.streams.wait()
}

// SetReady says whether the server may be sent traffic: with a reason, /readyz
// answers 503 and tells it; with an empty one it is ready again, as long as the
// service has not failed.
func (s *Server) SetReady(reason string) {
	if reason == "" {
		s.notReady.Store(nil)
		return
	}
	s.notReady.Store(&reason)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if sale, ok := claimPath(r); ok {
		s.claim(w, r, sale)
		return
	}
	if !clean(r.URL.Path) {
		s.serve(w, r, s.metrics.unrouted, route{who: public, do: (*Server).nowhere})
		return
	}
	s.mux.ServeHTTP(w, r)
}

// clean says that the mux will not redirect: an API answers, it does not guess
// what was meant.
func clean(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") &&
		!strings.Contains(path, "/./") && !strings.Contains(path, "/../") &&
		!strings.HasSuffix(path, "/.") && !strings.HasSuffix(path, "/..")
}

// call is one request on its way through a handler.
type call struct {
	w      http.ResponseWriter
	r      *http.Request
	caller admission.Caller
	*scratch
}

// handler answers a call and returns the status that it sent, or returns an
// error having sent nothing.
type handler func(*Server, *call) (status int, err error)

// serve is the way of every request but the hot one.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, stats *routeStats, rt route) {
	began := time.Now()
	c := &call{w: w, r: r, scratch: s.take()}
	defer s.put(c.scratch)
	setHeaders(w.Header())
	status := s.answer(c, rt)
	stats.count(status, time.Since(began))
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", status, "took", time.Since(began))
	}
}

// answer runs the handler of a route, if the caller may.
func (s *Server) answer(c *call, rt route) (status int) {
	defer func() {
		if p := recover(); p != nil {
			status = s.panicked(c.w, c.r, p)
		}
	}()
	err := s.admit(c, rt)
	if err == nil {
		status, err = rt.do(s, c)
	}
	if err != nil {
		return s.problem(c.w, c.r, err)
	}
	return status
}

// admit finds out who calls and whether the route is for them.
func (s *Server) admit(c *call, rt route) (err error) {
	if err := s.crossSite.Check(c.r); err != nil {
		return errCrossSite()
	}
	if rt.who == public {
		return nil
	}
	if c.caller, err = s.identify(c.r.Context(), authorization(c.r)); err != nil {
		return err
	}
	switch rt.who {
	case operators:
		return c.caller.MayOperate()
	case trusted:
		return c.caller.MayBatch()
	case cashiers:
		return c.caller.MayConfirm()
	}
	return nil
}

// identify finds out who sent a request. The admin token is known whatever the
// identity.
func (s *Server) identify(ctx context.Context, authorization string) (admission.Caller, error) {
	if authorization != "" && s.admin.Open(authorization) {
		return admission.Caller{Role: admission.Admin}, nil
	}
	return s.identity.Identify(ctx, authorization)
}

func authorization(r *http.Request) string {
	if h := r.Header["Authorization"]; len(h) > 0 {
		return h[0]
	}
	return ""
}

// setHeaders sets what every answer carries; a handler may set others instead.
func setHeaders(h http.Header) {
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = nosniff
	h["Content-Security-Policy"] = nothingElse
	h["Referrer-Policy"] = noReferrer
}
