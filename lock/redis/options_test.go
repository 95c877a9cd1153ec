package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"rushgate/lock"
	"rushgate/lock/redis"
)

func TestOptionsAreChecked(t *testing.T) {
	c := client(t, server.Server(t).Addr)
	for _, o := range []redis.Options{{Prefix: "a{b}"}, {Prefix: "a b"}, {Prefix: strings.Repeat("x", 65)}, {Memory: time.Minute}, {Memory: 1000 * time.Hour}} {
		if _, err := redis.New(c, o); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := redis.New(nil, redis.Options{}); !errors.Is(err, lock.ErrInvalid) {
		t.Error(err)
	}
}
