package id

// Adopt has a node take a lease over, as when its store has answered.
func Adopt(n *Node, l Lease) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.adopt(l, n.elapsed())
}
