// Package entry is what the SQL ledgers have in common: how a batch becomes rows,
// what no gate may ask for, what events tell, and how history is held against
// the claims. It speaks to no database.
package entry
