// Package limittest holds every store of limits against one model: a list of all
// grants, from which it finds out by trial what may be granted, how much is
// left, and how long to wait. It shows besides that concurrent callers never get
// more than there is, that a clock that goes back makes nothing more generous
// and locks nothing, and that giving back is never worth more than was taken.
package limittest
