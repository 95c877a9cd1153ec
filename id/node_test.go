package id_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"rushgate/id"
	"rushgate/id/idtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	idtest.Run(t, func(testing.TB) idtest.Register {
		m := id.NewMemory(time.Now)
		return idtest.Register{Open: func() id.Store { return m }}
	})
}
