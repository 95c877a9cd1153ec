package client

import "encoding/json"

// batchResult is a claim or a problem; the one that has a code is a problem.
type batchResult struct {
	claim   *Claim
	problem *Error
}

// UnmarshalJSON reads either.
func (r *batchResult) UnmarshalJSON(data []byte) error {
	var p problem
	if err := json.Unmarshal(data, &p); err == nil && p.Code != "" {
		r.problem = p.asError(p.Status)
		return nil
	}
	r.claim = &Claim{}
	return json.Unmarshal(data, r.claim)
}

func (r *batchResult) result() Result {
	if r.problem != nil {
		return Result{Err: r.problem}
	}
	return Result{Claim: r.claim}
}
