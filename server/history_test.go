package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The concurrent histories of a sale over HTTP are held against a sequential
// one (linearizability; Herlihy and Wing 1990, checked with Porcupine). The
// state is a whole small sale: what is free, who has what, frozen or not.

type opKind int

const (
	opClaim opKind = iota
	opConfirm
	opRelease
	opRestock
	opFreeze
	opResume
	opStock
)

type saleInput struct {
	kind opKind
	user string
	id   string // confirm, release
	n    int    // units
}

type saleOutput struct {
	code string // "", or the refusal; for moves of an ended claim its state
	id   string // a claim that was made
	free int    // stock
}

// saleState is kept small and comparable as text.
type saleState struct {
	free   int
	frozen bool
	claims []claimState // by id
}

type claimState struct {
	id, user, state string
	n               int
}

const perUser = 2

// step is the sequential specification.
func step(s saleState, in saleInput, out saleOutput) (bool, saleState) {
	switch in.kind {
	case opClaim:
		return stepClaim(s, in, out)
	case opConfirm, opRelease:
		return stepMove(s, in, out)
	case opRestock:
		if s.free+in.n < 0 {
			return out.code == "not_enough_free", s
		}
		s.free += in.n
		return out.code == "", s
	case opStock:
		return out.free == s.free, s
	}
	s.frozen = in.kind == opFreeze
	return out.code == "", s
}

func stepClaim(s saleState, in saleInput, out saleOutput) (bool, saleState) {
	has := 0
	for _, c := range s.claims {
		if c.user == in.user && (c.state == "held" || c.state == "confirmed") {
			has += c.n
		}
	}
	switch {
	case s.frozen:
		return out.code == "frozen", s
	case has+in.n > perUser:
		return out.code == "limit_reached", s
	case s.free < in.n:
		return out.code == "sold_out", s
	}
	s.free -= in.n
	s.claims = append(slices.Clone(s.claims), claimState{out.id, in.user, "held", in.n})
	return out.code == "" && out.id != "", s
}

func stepMove(s saleState, in saleInput, out saleOutput) (bool, saleState) {
	to := map[opKind]string{opConfirm: "confirmed", opRelease: "released"}[in.kind]
	for i, c := range s.claims {
		if c.id != in.id {
			continue
		}
		if c.state != "held" {
			return out.code == "" && c.state == to || out.code == "wrong_state" && c.state != to, s
		}
		s.claims = slices.Clone(s.claims)
		s.claims[i].state = to
		if to == "released" {
			s.free += c.n
		}
		return out.code == "", s
	}
	return false, s // it was claimed before it could be moved
}

func saleModel(stock int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return saleState{free: stock} },
		Step: func(state, in, out any) (bool, any) {
			ok, next := step(state.(saleState), in.(saleInput), out.(saleOutput))
			return ok, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(saleState), b.(saleState)
			return x.free == y.free && x.frozen == y.frozen && slices.Equal(sorted(x.claims), sorted(y.claims))
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
	}
}

func sorted(claims []claimState) []claimState {
	return slices.SortedFunc(slices.Values(claims), func(a, b claimState) int { return strings.Compare(a.id, b.id) })
}

func TestHistoriesOverHTTPAreLinearizable(t *testing.T) {
	w := start(t)
	for round := range 12 {
		stock := 3 + round%3
		sale := fmt.Sprintf("s%d", round)
		w.sale(sale, stock, `,"per_user":2`)
		history := w.play(sale, uint64(round))
		result, info := porcupine.CheckOperationsVerbose(saleModel(stock), history, 20*time.Second)
		if result != porcupine.Ok {
			for _, op := range history {
				t.Logf("%d..%d client %d %+v → %+v", op.Call, op.Return, op.ClientId, op.Input, op.Output)
			}
			_ = info
			t.Fatalf("round %d: %s", round, result)
		}
	}
}

// play lets clients act on one sale at the same time and writes down what
// they asked and heard.
func (w *world) play(sale string, seed uint64) []porcupine.Operation {
	const clients, actions = 6, 9
	began := time.Now()
	histories := make([][]porcupine.Operation, clients)
	var known claimIDs
	var all sync.WaitGroup
	for client := range clients {
		random := rand.New(rand.NewPCG(seed, uint64(client)))
		all.Go(func() {
			for range actions {
				in := choose(random, client, &known)
				call := time.Since(began)
				out, err := w.act(sale, in)
				if err != nil {
					w.t.Error(err)
					return
				}
				histories[client] = append(histories[client], porcupine.Operation{ClientId: client, Input: in, Call: int64(call), Output: out, Return: int64(time.Since(began))})
				if out.id != "" {
					known.add(out.id)
				}
			}
		})
	}
	all.Wait()
	return slices.Concat(histories...)
}

// claimIDs are the claims that clients may move, theirs or others'.
type claimIDs struct {
	mu  sync.Mutex
	ids []string
}

func (c *claimIDs) add(id string) { c.mu.Lock(); defer c.mu.Unlock(); c.ids = append(c.ids, id) }

func (c *claimIDs) pick(n int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids) == 0 {
		return ""
	}
	return c.ids[n%len(c.ids)]
}

func choose(random *rand.Rand, client int, known *claimIDs) saleInput {
	in := saleInput{kind: opClaim, user: fmt.Sprintf("u%d", random.IntN(4)), n: 1 + random.IntN(2)}
	switch dice := random.IntN(20); {
	case dice < 9:
		return in
	case dice < 14:
		if id := known.pick(random.IntN(100)); id != "" {
			return saleInput{kind: opConfirm + opKind(random.IntN(2)), id: id}
		}
		return in
	case dice < 16:
		return saleInput{kind: opRestock, n: []int{-2, -1, 1, 2}[random.IntN(4)]}
	case dice < 18 && client == 0:
		return saleInput{kind: opFreeze}
	case dice < 18 && client == 1:
		return saleInput{kind: opResume}
	}
	return saleInput{kind: opStock}
}

// act sends one action.
func (w *world) act(sale string, in saleInput) (saleOutput, error) {
	admin := []string{"Authorization", "Bearer " + adminToken}
	var a ask
	switch in.kind {
	case opClaim:
		a = ask{"POST", "/v1/sales/" + sale + "/claims", fmt.Sprintf(`{"user":%q,"quantity":%d}`, in.user, in.n), nil}
	case opConfirm:
		a = ask{"POST", "/v1/claims/" + in.id + "/confirm", "", nil}
	case opRelease:
		a = ask{"POST", "/v1/claims/" + in.id + "/release", "", nil}
	case opRestock:
		a = ask{"POST", "/v1/sales/" + sale + "/restock", fmt.Sprintf(`{"add":%d}`, in.n), admin}
	case opFreeze:
		a = ask{"POST", "/v1/sales/" + sale + "/freeze", "", admin}
	case opResume:
		a = ask{"POST", "/v1/sales/" + sale + "/resume", "", admin}
	case opStock:
		a = ask{"GET", "/v1/sales/" + sale + "/stock", "", admin}
	}
	got, err := w.try(a)
	out := saleOutput{code: got.text("code")}
	if in.kind == opClaim && got.status == 201 {
		out.id = got.text("id")
	}
	if in.kind == opStock && err == nil {
		out.free = int(got.body["items"].([]any)[0].(map[string]any)["free"].(float64))
	}
	return out, err
}
