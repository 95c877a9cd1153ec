package memory_test

import (
	"testing"

	"rushgate"
	"rushgate/gate/gatetest"
	"rushgate/gate/memory"
)

func factory() gatetest.Factory {
	return gatetest.Factory{New: func(testing.TB) rushgate.Gate { return memory.New() }}
}

func TestGate(t *testing.T) { gatetest.Run(t, factory()) }

func BenchmarkGate(b *testing.B) { gatetest.Bench(b, factory()) }
