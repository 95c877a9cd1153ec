// Package deptest holds the house rules that a compiler does not know: who may
// import whom, and a few habits. Its tests read the source of the whole module.
// Each rule says why it is there; a rule that has lost its reason should go.
package deptest
