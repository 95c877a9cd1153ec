package limithttp

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"

	"rushgate/limit"
)

// The fields, as net/http spells them.
const (
	fieldPolicy = "Ratelimit-Policy"
	fieldLimit  = "Ratelimit"
)

// policyField writes the item of a rule in RateLimit-Policy: q units in a window
// of w seconds. A bucket is told as its burst and the time in which that refills.
func policyField(b []byte, r *limit.Rule) []byte {
	b = append(append(append(b, '"'), r.Name...), `";q=`...)
	b = strconv.AppendInt(b, r.Policy.Limit(), 10)
	return strconv.AppendInt(append(b, ";w="...), seconds(r.Policy.Window()), 10)
}

// limitField writes the item of a rule in RateLimit: r units are left, and all of
// them are back in t seconds.
func limitField(b []byte, name string, r *limit.Result) []byte {
	b = append(append(append(b, '"'), name...), `";r=`...)
	b = strconv.AppendInt(b, r.Remaining, 10)
	return strconv.AppendInt(append(b, ";t="...), seconds(r.Reset), 10)
}

// partition writes the parameter pk, a byte sequence of RFC 9651.
func partition(b []byte, key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return append(base64.StdEncoding.AppendEncode(append(b, ";pk=:"...), sum[:12]), ':')
}

// tell writes both fields, behind what another Limited has written. A rule that was
// left out is not told.
func (l *Limited) tell(h http.Header, asks []limit.Ask, results []limit.Result) {
	var policies, limits []byte
	for i := range asks {
		if asks[i].Key == "" {
			continue
		}
		if policies != nil {
			policies, limits = append(policies, ", "...), append(limits, ", "...)
		}
		policies = append(policies, l.policies[i]...)
		limits = limitField(limits, l.rules[i].Name, &results[i])
		if l.options.Partition {
			policies, limits = partition(policies, asks[i].Key), partition(limits, asks[i].Key)
		}
	}
	if policies != nil {
		h[fieldPolicy] = append(h[fieldPolicy], string(policies))
		h[fieldLimit] = append(h[fieldLimit], string(limits))
	}
}

// seconds rounds up: who comes back too early is refused again.
func seconds(d time.Duration) int64 {
	return int64(d/time.Second) + min(int64(d%time.Second), 1)
}
