package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"rushgate/client"
)

// plainAnswer is a claim or a problem.
type plainAnswer struct {
	client.Claim
	Code   client.Code `json:"code"`
	Claims []string    `json:"claims"`
}

// plainClaim asks without an idempotency key, as a buyer with curl would; our
// client never does. An error means that there was no answer.
func plainClaim(ctx context.Context, url, user, item string) (*plainAnswer, error) {
	body := fmt.Appendf(nil, `{"user":%q,"item":%q}`, user, item)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/sales/"+mainSale+"/claims", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &plainAnswer{}
	return a, json.NewDecoder(resp.Body).Decode(a)
}

// plain is a person without a key.
func (b *burst) plain(ctx context.Context, item string) bool {
	user := b.user()
	a, err := plainClaim(ctx, b.url, user, item)
	switch {
	case err != nil:
		b.unansweredPlain(user, item)
		return false
	case a.Code != "":
		b.t.Errorf("%s claims without a key: %s", user, a.Code)
	default:
		b.acknowledge(&a.Claim, "")
	}
	return true
}

func (j *journal) unansweredPlain(user, item string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.openPlain = append(j.openPlain, client.Ask{User: user, Item: item})
	j.lost++
}

// resolvePlain asks again: without a key, it is the limit that keeps a person
// from having two, and that names the one there is.
func (j *journal) resolvePlain(ctx context.Context, t *testing.T, url string, c *client.Client) {
	t.Helper()
	open := j.openPlain
	j.openPlain = nil
	for _, q := range open {
		a, err := plainClaim(ctx, url, q.User, q.Item)
		switch {
		case err != nil:
			t.Errorf("%s asks again: %v", q.User, err)
		case a.Code == client.LimitReached && len(a.Claims) == 1:
			j.recovered++
			claim, err := c.GetClaim(ctx, a.Claims[0])
			if err != nil || claim.User != q.User {
				t.Errorf("%s was told of claim %s: %+v, %v", q.User, a.Claims[0], claim, err)
				continue
			}
			j.acknowledge(claim, "")
		case a.Code != "":
			t.Errorf("%s asks again: %s", q.User, a.Code)
		default:
			j.acknowledge(&a.Claim, "")
		}
	}
}
