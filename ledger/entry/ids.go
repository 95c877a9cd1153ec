package entry

import (
	"strconv"

	"rushgate"
)

// ClaimIDs is the JSON array of the ids of claims, of which there is at least
// one: what the claims column of an event says.
func ClaimIDs(claims []rushgate.Claim) string {
	buf := make([]byte, 1, 1+20*len(claims))
	buf[0] = '['
	for i := range claims {
		buf = strconv.AppendInt(buf, int64(claims[i].ID), 10)
		buf = append(buf, ',')
	}
	buf[len(buf)-1] = ']'
	return string(buf)
}
