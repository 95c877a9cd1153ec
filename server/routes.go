package server

import (
	"net/http"
	"slices"
	"strings"
)

// access says for whom a route is.
type access uint8

const (
	public    access = iota // everybody, unasked
	buyers                  // whoever the identity knows
	cashiers                // whoever takes payments: not buyers
	trusted                 // the shop's server, operators
	operators               // the admin token
)

// route is one line of the table.
type route struct {
	method  string
	pattern string
	who     access
	do      handler
}

// sells says that the route needs the service.
func (rt *route) sells() bool { return strings.HasPrefix(rt.pattern, "/v1/") }

// routes is the whole API.
func routes() []route {
	return []route{
		{"GET", "/{$}", public, (*Server).index},
		{"GET", "/docs", public, (*Server).docs},
		{"GET", "/openapi.json", public, (*Server).openapi},
		{"GET", "/healthz", public, (*Server).healthz},
		{"GET", "/readyz", public, (*Server).readyz},
		{"GET", "/metrics", public, (*Server).expose},

		{"GET", "/v1/sales", public, (*Server).listSales},
		{"GET", "/v1/sales/{sale}", public, (*Server).showSale},
		{"POST", "/v1/sales", operators, (*Server).createSale},
		{"PATCH", "/v1/sales/{sale}", operators, (*Server).changeSale},
		{"POST", "/v1/sales/{sale}/restock", operators, (*Server).restock},
		{"POST", "/v1/sales/{sale}/freeze", operators, (*Server).freeze},
		{"POST", "/v1/sales/{sale}/resume", operators, (*Server).resume},
		{"POST", "/v1/sales/{sale}/close", operators, (*Server).closeSale},
		{"GET", "/v1/sales/{sale}/stock", operators, (*Server).stock},
		{"GET", "/v1/sales/{sale}/claims", operators, (*Server).listClaims},
		{"GET", "/v1/sales/{sale}/audit", operators, (*Server).audit},
		{"GET", "/v1/sales/{sale}/events", operators, (*Server).events},

		{"POST", claimPattern, buyers, nil}, // the hot path: claim.go
		{"POST", "/v1/sales/{sale}/claims:batch", trusted, (*Server).claimBatch},
		{"GET", "/v1/claims/{id}", buyers, (*Server).getClaim},
		{"POST", "/v1/claims/{id}/confirm", cashiers, (*Server).confirm},
		{"POST", "/v1/claims/{id}/release", buyers, (*Server).release},
	}
}

const claimPattern = "/v1/sales/{sale}/claims"

// route makes the mux of the table. Methods are told apart here and not by the
// mux, so that its refusals are problem documents too.
func (s *Server) route() {
	s.mux = http.NewServeMux()
	byPattern := map[string]*endpoint{}
	for _, rt := range routes() {
		e := byPattern[rt.pattern]
		if e == nil {
			e = &endpoint{server: s, methods: map[string]bound{}}
			byPattern[rt.pattern] = e
			s.mux.Handle(rt.pattern, e)
		}
		stats := s.metrics.route(rt.method + " " + strings.TrimSuffix(rt.pattern, "{$}"))
		if rt.do == nil {
			s.claimRoute = stats
			rt.do = (*Server).claimOddly
		}
		e.methods[rt.method] = bound{rt, stats}
	}
	for _, e := range byPattern {
		e.allow = e.allowed()
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, s.metrics.unrouted, route{who: public, do: (*Server).nowhere})
	})
}

// endpoint is all routes of one path.
type endpoint struct {
	server  *Server
	methods map[string]bound
	allow   string
}

type bound struct {
	route
	stats *routeStats
}

// ServeHTTP picks the route by the method.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http leaves the body out
	}
	b, ok := e.methods[method]
	if !ok {
		w.Header().Set("Allow", e.allow)
		e.server.serve(w, r, e.server.metrics.unrouted, route{who: public, do: (*Server).wrongMethod})
		return
	}
	e.server.serve(w, r, b.stats, b.route)
}

func (e *endpoint) allowed() string {
	var methods []string
	for m := range e.methods {
		methods = append(methods, m)
		if m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

func (s *Server) nowhere(c *call) (int, error) { return 0, errNowhere(c.r.URL.Path) }

func (s *Server) wrongMethod(c *call) (int, error) {
	return 0, errMethod(c.r.Method, c.w.Header().Get("Allow"))
}

// claimOddly is for a claim whose URL was written in a way that claimPath does
// not take apart, with escapes for instance.
func (s *Server) claimOddly(c *call) (int, error) {
	return s.claimInto(c.w, c.r, c.r.PathValue("sale"), c.scratch)
}
