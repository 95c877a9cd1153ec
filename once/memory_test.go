package once_test

import (
	"testing"

	"go.uber.org/goleak"

	"rushgate/once"
	"rushgate/once/oncetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func memory(tb testing.TB, c once.MemoryConfig) *once.Memory {
	tb.Helper()
	m, err := once.NewMemory(c)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestMemory: the nodes are as many callers of one process.
func TestMemory(t *testing.T) {
	oncetest.Run(t, oncetest.Factory{New: func(tb testing.TB, n int) []oncetest.Backend {
		m := memory(tb, once.MemoryConfig{})
		nodes := make([]oncetest.Backend, n)
		for i := range nodes {
			nodes[i] = m
		}
		return nodes
	}})
}
