# make test is all that a change has to pass. Nothing here needs more than Go,
# git, make and a C compiler (for the race detector); servers are installed.

GO   ?= go
FUZZ ?= 5000x # inputs for each fuzz target in make test
PACKAGES ?= 3 # tested at a time
KILLS ?= 300  # for make test-crash
PEOPLE ?= 50000 # for make test-cluster
ROUNDS ?= 3   # of every disaster, for make test-cluster

# Recipes pipe; a failure anywhere in a pipe is a failure.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.PHONY: test check race fuzz servers test-crash test-cluster bench bench-quick demo fmt

test: servers check race fuzz

# The servers that tests start for themselves, and curl, for the lines that the demo
# invites to paste: a program, and the Debian package that it is in.
SERVERS := redis-server=redis-server initdb=postgresql mariadbd=mariadb-server haproxy=haproxy chromium=chromium curl=curl

servers:
	@internal/testenv/install.sh $(SERVERS)

check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted (make fmt): $$unformatted" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# One package more at a time than two cores: tests of real servers wait a lot. The
# bound is for tests that hang: beside others, the lab has taken half of ten minutes.
race:
	$(GO) test -race -p $(strip $(PACKAGES)) -timeout 20m ./...

# A few thousand inputs for each target: enough to see that none is broken by its
# seeds and what was found before. They are counted, because a time that is over
# can be a failure ("context deadline exceeded") on a busy machine until Go 1.27:
# https://go.dev/issue/75804. For a hunt: go test -fuzz NAME -fuzztime 10m ./PACKAGE
fuzz:
	@{ grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . || true; } | sort | while IFS=: read -r file name; do \
		echo "fuzz $$(dirname $$file) $${name#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(strip $(FUZZ)) -fuzzminimizetime 100x "$$(dirname $$file)"; \
	done

# The real binary, killed again and again in a burst.
test-crash:
	RUSHGATE_KILLS=$(strip $(KILLS)) $(GO) test -count=1 -timeout 60m -v ./internal/crashtest

# The real binary, several of them, with everything under them killed, paused,
# cut off and made to forget.
test-cluster: servers
	RUSHGATE_CLUSTER_PEOPLE=$(strip $(PEOPLE)) $(GO) test -count=$(strip $(ROUNDS)) -timeout 60m -v ./internal/clustertest

bench:
	@internal/testenv/install.sh $(SERVERS) wrk=wrk
	$(GO) run ./bench/compare
	$(GO) run ./bench/takeover

bench-quick:
	@internal/testenv/install.sh $(SERVERS) wrk=wrk
	$(GO) run ./bench/compare --quick

demo:
	$(GO) run ./cmd/rushgate demo

fmt:
	gofmt -w .
