package server

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strconv"
	"time"

	"rushgate"
	"rushgate/internal/lane"
)

// Express puts the express lane for claims in front of a listener: what the
// lane does not serve goes to the http.Server that serves what Express
// returns. The answers are the same, to the byte; only the way is shorter.
// Its Shutdown is to be called beside that of the http.Server.
func (s *Server) Express(l net.Listener) *lane.Listener {
	return lane.Listen(l, lane.Config{Match: isClaimPath, Serve: s.express,
		IdleTimeout: IdleTimeout, ReadTimeout: ReadHeaderTimeout, WriteTimeout: WriteTimeout, Log: s.log})
}

func isClaimPath(path []byte) bool {
	_, ok := cutClaimPath(path)
	return ok
}

// cutClaimPath returns the sale of a claim's path.
func cutClaimPath(path []byte) (sale []byte, ok bool) {
	sale, ok = bytes.CutPrefix(path, []byte(claimsBefore))
	if !ok {
		return nil, false
	}
	sale, ok = bytes.CutSuffix(sale, []byte(claimsAfter))
	return sale, ok && len(sale) > 0 && bytes.IndexByte(sale, '/') < 0
}

// express answers POST /v1/sales/{sale}/claims as claim does.
func (s *Server) express(r *lane.Request, reply *lane.Reply) {
	began := time.Now()
	s.expressOrPanic(r, reply)
	reply.Last = s.draining.Load()
	took := time.Since(began)
	s.claimRoute.count(reply.Status, took)
	if s.log.Enabled(context.Background(), slog.LevelDebug) {
		s.log.Debug("request", "method", "POST", "path", string(r.Path), "status", reply.Status, "took", took)
	}
}

func (s *Server) expressOrPanic(r *lane.Request, reply *lane.Reply) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(p)
			*reply = lane.Reply{}
			s.expressProblem(r, reply, errPanicked)
		}
	}()
	receipt, err := s.expressClaim(r)
	if err != nil {
		s.expressProblem(r, reply, err)
		return
	}
	reply.Status = claimStatus(&receipt)
	reply.AddHeader("Content-Type", typeJSON[0])
	reply.AddHeader("X-Content-Type-Options", nosniff[0])
	reply.AddHeader("Cache-Control", noStore[0])
	reply.Body = appendClaim(reply.Body, &receipt)
}

func (s *Server) expressClaim(r *lane.Request) (rushgate.Receipt, error) {
	e, err := s.serving()
	if err != nil {
		return rushgate.Receipt{}, err
	}
	ctx := context.Background() // nobody tells the lane that a buyer has left
	caller, err := s.identify(ctx, string(r.Authorization))
	if err != nil {
		return rushgate.Receipt{}, err
	}
	if err := checkType(string(r.ContentType), r.Browser); err != nil {
		return rushgate.Receipt{}, err
	}
	sale, _ := cutClaimPath(r.Path)
	return e.claim(ctx, caller, string(sale), string(r.IdempotencyKey), r.Body)
}

// expressProblem is problem for the lane.
func (s *Server) expressProblem(r *lane.Request, reply *lane.Reply, err error) {
	e := asError(err)
	p := s.describe(e, func() string { return string(r.RequestID) }, "POST", string(r.Path))
	reply.Status = p.status
	reply.AddHeader("Content-Type", typeProblem[0])
	reply.AddHeader("X-Content-Type-Options", nosniff[0])
	reply.AddHeader("Cache-Control", noStore[0])
	if p.retryAfter > 0 {
		reply.AddHeader("Retry-After", strconv.FormatInt(p.retryAfter, 10))
	}
	if p.authenticate != "" {
		reply.AddHeader("Www-Authenticate", p.authenticate)
	}
	if p.requestID != "" {
		reply.AddHeader("X-Request-Id", p.requestID)
	}
	reply.Body = appendProblem(reply.Body, e, p.status, p.title, p.requestID)
}
