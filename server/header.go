package server

// The values of headers that nearly every answer carries. They are constants
// that Go has no word for: they are assigned to the header map as they are,
// which costs no allocation, and nobody may change them.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
	nosniff     = []string{"nosniff"}
	noReferrer  = []string{"no-referrer"}
	nothingElse = []string{"default-src 'none'; frame-ancestors 'none'"}
)
