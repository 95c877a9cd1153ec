package id

// Adopt has a node take a lease over, as when its store has answered.
func Adopt(n *Node, l Lease) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.adopt(l, n.elapsed())
}

// NextIn is Next of somebody who has looked at the window of now, and was stopped
// while other things happened.
func NextIn(n *Node, meanwhile func()) (ID, error) {
	w := n.window.Load()
	meanwhile()
	return n.next(w)
}
