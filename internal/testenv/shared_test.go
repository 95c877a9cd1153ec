package testenv

import (
	"errors"
	"os"
	"testing"
)

// tests is a run that is made of one test.
type tests func() int

func (run tests) Run() int { return run() }

func TestASharedServerLivesAsLongAsTheTests(t *testing.T) {
	shared := SharedRedis()
	var server *RedisServer
	status := shared.Around(tests(func() int {
		server = shared.Server(t)
		if shared.Server(t) != server {
			t.Error("the second test has another server")
		}
		asked(t, server, "PING")
		return 7
	})).Run()
	if status != 7 {
		t.Errorf("status %d, want that of the tests, 7", status)
	}
	if server.Running() {
		t.Error("it runs after the tests")
	}
	if _, err := os.Stat(shared.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

func TestASharedServerThatNobodyAskedForIsNotStarted(t *testing.T) {
	shared := SharedRedis()
	if status := shared.Around(tests(func() int { return 0 })).Run(); status != 0 || shared.dir != "" {
		t.Errorf("status %d, folder %q", status, shared.dir)
	}
}
