# Hearth's commands. `make help` lists them; each installs the Debian packages it needs (as root).
.DEFAULT_GOAL := help
.PHONY: help run build install test test-vm lint sanitize sanitize-core bench soak fuzz clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build hearth alone, then run examples/hello.py in a fresh sandbox
	@scripts/install-packages build
	@scripts/build release hearth
	@build/bin/hearth run examples/hello.py

build: ## build everything into build/ (programs in build/bin)
	@scripts/install-packages build
	@scripts/build release

install: build ## build, then install into PREFIX (default /usr/local), below DESTDIR if that is set
	@cmake --install build --prefix "$(PREFIX)"

test: ## build and run every test
	@scripts/install-packages build test
	@scripts/build release
	@scripts/run-tests build

test-vm: ## build, then run the native tests in a virtual machine with cgroup v2 only
	@scripts/install-packages build test vm
	@scripts/build release
	@scripts/test-vm

sanitize: ## run the tests under AddressSanitizer + UBSan, then under ThreadSanitizer
	@scripts/install-packages build test
	@scripts/build debug
	@scripts/run-tests build-debug
	@scripts/build tsan
	@scripts/run-tests build-tsan

CORE := base os async wire channel blueprint registry settings pool execution init

sanitize-core: ## the same for the core: what needs neither a sandbox nor an engine
	@scripts/install-packages build test
	@for preset in debug tsan; do \
		scripts/build $$preset $(CORE:%=test_%) || exit 1; \
		scripts/run-tests build-$$preset -R "^test_($$(echo $(CORE) | tr ' ' '|'))/" || exit 1; \
	done

lint: ## check layers, sizes, formatting, scripts; clang-tidy and cppcheck on what changed (LINT=all: on everything)
	@scripts/install-packages build test bench lint
	@scripts/build release --configure-only
	@scripts/lint $(LINT)

bench: ## measure, print one table, write build/bench.json (BENCH=turns|native|pool|sessions|transfers|commands|docker: a part of it)
	@scripts/install-packages build test bench
	@scripts/build release
	@scripts/bench $(BENCH)

SOAK_SECONDS ?= 300

soak: ## let 10,000 sessions come and go, 1,000 of them live, for SOAK_SECONDS (default 300)
	@scripts/install-packages build test
	@scripts/build release
	@HEARTH_SOAK_SESSIONS=10000 HEARTH_SOAK_LIVE=1000 HEARTH_SOAK_CLIENTS=32 \
	  HEARTH_SOAK_SECONDS=$(SOAK_SECONDS) build/bin/test_session_churn

fuzz: ## run each fuzz target for FUZZ_SECONDS (default 600) from the kept corpus
	@scripts/install-packages build test
	@scripts/build fuzz
	@scripts/fuzz

clean: ## remove what was built
	@scripts/docker-engine stop
	rm -rf build build-debug build-tsan build-fuzz build-vm
