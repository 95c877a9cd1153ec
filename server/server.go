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

// Config is what a Server is made of. Identity, AdminToken and Metrics are
// required.
type Config struct {
	Service    *rushgate.Service // may be attached later: see Attach
	Identity   admission.Identity
	AdminToken string   // the bearer token of the admin API: visible ASCII
	Metrics    *Metrics // made before the Service, which reports to it

	// Unready says why this process should not be sent anything at the moment,
	// for a reason that neither the service nor the identity knows; "" for
	// none. Default: there is none.
	Unready func() string

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
	engine   atomic.Pointer[engine]
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
	pages      *pages

	outside  func() string // Config.Unready
	scratch  sync.Pool     // of *scratch
	requests atomic.Uint64
	notReady atomic.Pointer[string]
	draining atomic.Bool

	stopping chan struct{} // closed by Close
	stop     sync.Once
	streams  streams
}

// New returns a server. Close ends its event streams.
func New(cfg Config) (*Server, error) {
	if cfg.Identity == nil || cfg.Metrics == nil {
		return nil, errors.New("a server needs an Identity and Metrics")
	}
	admin, err := admission.NewKeys(cfg.AdminToken)
	if err != nil {
		return nil, errors.New("admin token: it must be visible ASCII characters without spaces")
	}
	s := &Server{identity: cfg.Identity, admin: admin, metrics: cfg.Metrics,
		log: cfg.Log, outside: cfg.Unready, heartbeat: cfg.Heartbeat, streamWrite: cfg.StreamWrite,
		crossSite: http.NewCrossOriginProtection(), stopping: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.outside == nil {
		s.outside = func() string { return "" }
	}
	if s.heartbeat == nil {
		s.heartbeat = everyFifteenSeconds
	}
	if s.streamWrite == 0 {
		s.streamWrite = 10 * time.Second
	}
	s.scratch.New = func() any { return newScratch() }
	if s.pages, err = newPages(); err != nil {
		return nil, err
	}
	s.route()
	if cfg.Service != nil {
		s.Attach(cfg.Service)
	} else {
		s.Detach("starting")
	}
	s.metrics.watch(s.Service)
	return s, nil
}

// Close ends the event streams and waits for their handlers. Other requests go
// on; http.Server.Shutdown waits for them. It may be called more than once.
func (s *Server) Close() {
	s.stop.Do(func() { close(s.stopping) })
	s.streams.wait()
}

// SetReady says whether the server may be sent traffic: with a reason, /readyz
// answers 503 and tells it; with an empty one it is ready again, as long as
// there is a service that has not failed.
func (s *Server) SetReady(reason string) {
	if reason == "" {
		s.notReady.Store(nil)
		return
	}
	s.notReady.Store(&reason)
}

// Drain says that the server is about to stop: /readyz answers 503 and tells
// why. Everything else is served as before, and each answer is the last one of its
// connection: clients and balancers go elsewhere by themselves, before a Shutdown
// closes idle connections in the face of requests that are on their way.
func (s *Server) Drain(reason string) {
	s.SetReady(reason)
	s.draining.Store(true)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		w.Header().Set("Connection", "close") // net/http closes it after the answer
	}
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
	w       http.ResponseWriter
	r       *http.Request
	caller  admission.Caller
	*engine // of routes below /v1
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

// admit finds the service, who calls, and whether the route is for them.
func (s *Server) admit(c *call, rt route) (err error) {
	if rt.sells() {
		if c.engine, err = s.serving(); err != nil {
			return err
		}
	}
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

// authorization returns the header. One that is there twice becomes a list
// (RFC 9110, section 5.3), which opens nothing: two readers could otherwise
// believe a different one.
func authorization(r *http.Request) string {
	switch h := r.Header["Authorization"]; len(h) {
	case 0:
		return ""
	case 1:
		return h[0]
	default:
		return strings.Join(h, ", ")
	}
}

// setHeaders sets what every answer carries; a handler may set others instead.
func setHeaders(h http.Header) {
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = nosniff
	h["Content-Security-Policy"] = nothingElse
	h["Referrer-Policy"] = noReferrer
}
