# Sallyport: what can be done here. `make` lists it.
#
# Go compiles without cgo everywhere; only the race detector needs a C compiler. Tools are pinned in tools/go.mod and
# cached, built, under bin/tools.

SHELL := /bin/bash
.DEFAULT_GOAL := help
export CGO_ENABLED := 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME ?= 5s

.PHONY: help build test race fuzz bench lint fmt generate check web e2e demo soak sim clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the program: bin/sallyport
	go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/sallyport ./cmd/sallyport

test: ## every test: fuzzing for a moment, the race detector, and all packages with the real program
	@scripts/packages check
	@scripts/fuzz 200x
	@scripts/race
	go test ./...

race: ## the packages' own tests under the race detector (needs a C compiler)
	@scripts/race

fuzz: ## every fuzz target for FUZZTIME (5s, or a number of inputs: 1000x)
	@scripts/fuzz $(FUZZTIME)

bench: ## measure the promises and write the figures into docs/promises.md
	go run ./bench -write docs/promises.md

lint: ## golangci-lint, with the rules and their reasons of .golangci.yml
	@$$(scripts/tool golangci-lint) run ./...

fmt: ## format all Go source
	@$$(scripts/tool gofumpt) -l -w $$(scripts/sources)

generate: ## make what is generated: docs, tables
	go generate ./...

check: ## what must hold before a commit: format, lint, three systems, generated files, the floors
	@scripts/check

web: ## the console
	@echo "web: there is no console in this version, so there is nothing to build"

e2e: ## the real program under real clients: Go and TypeScript
	go test -count=1 ./e2e/...

demo: build ## a real client drives a real gateway, for a person to watch
	@go run ./examples/demo -bin bin/sallyport

soak: ## the end-to-end tests with their full counts (10,000 runs, 5,000 sessions)
	SALLYPORT_SOAK=1 go test -count=1 -timeout 60m ./e2e/... ./host/...

sim: ## simulated faults
	@echo "sim: there is no fault simulator in this version; faults are in the packages' own tests"

clean: ## remove what was built
	rm -rf bin demo-workspace
