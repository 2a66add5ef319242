# Loadstone. `make demo` and `make test` set up whatever they need.
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS = -X github.com/loadstone-perf/loadstone/internal/cli.version=$(VERSION)

.PHONY: demo test replay bench lint build setup clean

build: ## bin/loadstone
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/loadstone ./cmd/loadstone

demo: build ## run the quickstart study on this machine's PostgreSQL
	bin/loadstone run studies/quickstart.yaml

setup: ## install what the tests need (Debian, as root); elsewhere tell what is missing
	./scripts/setup

test: setup
	$(GO) vet ./...
	$(GO) test -timeout 20m ./...

replay: build ## calculate the published studies again: docs/replay.md, SIMULATED
	bin/loadstone replay --output docs/replay.md

bench: build
	./scripts/bench

lint:
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...

clean:
	rm -rf bin
