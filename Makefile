# Every target does its own set-up. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS := $(or $(SBX_TOOLS),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/claude-sandbox-dev)
FUZZTIME ?= 10s
BENCHTIME ?= 1s
SOAK ?= 10m
MUTANTS ?= 200000
TEMPLATE ?= .*
JOURNEY ?= .*
# As scripts/build compiles: most packages are compiled once for it, tests, vet and staticcheck.
export GOFLAGS ?= -trimpath -buildvcs=false

# Packages with a test, fuzz test or benchmark that matches $(1).
packages_with = $$(grep -rlE --include='*_test.go' '$(1)' . | xargs -r dirname | sort -u)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install and start what tests run against (scripts/setup; a second run takes no time)
	@scripts/setup

.PHONY: build
build: ## build bin/sbx-devc, which carries sbx-init for amd64 and arm64
	@scripts/build

.PHONY: demo
demo: ## show the main job on the real parts: init, validate, build, run, egress report
	@scripts/setup --for demo
	@scripts/build
	@bin/sbx-devc demo

.PHONY: test
test: setup build ## every test, on real components; needs root or their rights
	@# The two that take longest come first, so that no core waits for them at the end.
	go test $(TESTFLAGS) -timeout 60m ./cmd/sbx-devc ./sandbox ./...

.PHONY: test-short
test-short: build ## tests that need no root, engine or network
	go test -short -timeout 2m ./...

.PHONY: test-root
test-root: setup build ## only the packages whose tests change network namespaces and packet filters
	go test -count=1 -timeout 10m $(call packages_with,testenv\.Root)

.PHONY: matrix
matrix: setup build ## build every template and bring it up with the official CLI; takes minutes (TEMPLATE=claude: only that one)
	SBX_TEMPLATE_MATRIX=1 go test -count=1 -timeout 40m -run '^TestTemplateMatrix$$/^$(TEMPLATE)$$' -v ./cmd/sbx-devc
	@# claude-strict has two containers and a test of its own.
	$(if $(filter .* claude-strict,$(TEMPLATE)),go test -count=1 -timeout 20m -run '^TestStrictDevcontainer$$' -v ./cmd/sbx-devc)

.PHONY: journeys
journeys: setup build ## from a clone to the agent's branch in projects of each kind, as users 1000, 1001 and root; takes minutes (JOURNEY=go: only those)
	SBX_JOURNEYS=1 go test -count=1 -timeout 60m -run '^TestJourneys$$/$(JOURNEY)' -v ./cmd/sbx-devc

# Renovate is no part of tools/package.json: six hundred packages for one test.
.PHONY: renovate
renovate: setup build ## let the real Renovate read, look up and update what init writes; asks npm for versions
	npm install --prefix $(TOOLS)/renovate --ignore-scripts --no-audit --no-fund --no-save --loglevel=error renovate@44.121.2 node-linux-$(if $(filter aarch64,$(shell uname -m)),arm64,x64)@24.21.0
	SBX_RENOVATE=$(TOOLS)/renovate go test -count=1 -run '^TestRenovate$$' -v ./cmd/sbx-devc

.PHONY: test-slow
test-slow: setup build ## attacks that wait for minutes, every system call of the start made to fail, and facts that ask Compose
	SBX_ATTACK_SLOW=1 go test -count=1 -timeout 15m -run 'TestAttacks$$' ./internal/test/attack
	SBX_ALL_FAULTS=1 go test -count=1 -timeout 60m -run TestFaultsInSystemCalls ./cmd/sbx-init
	SBX_ALL_FACTS=1 go test -count=1 -timeout 10m -run TestFactsOfStarting ./devcontainer/lint

.PHONY: test-many
test-many: setup build ## ten runs at once on one repository
	SBX_TEST_RUNS=10 go test -count=1 -timeout 20m -run '^TestSeveralRunsOnCopiesOfAUser$$' ./cmd/sbx-devc

.PHONY: test-deaths
test-deaths: setup build ## the program killed at each phase, the engine gone in the middle of a run, full disks; minutes
	SBX_TEST_DEATHS=1 go test -count=1 -v -timeout 30m -run '^(TestAttackTheProgramIsKilledAtEachPhase|TestTheEngineGoesAwayInTheMiddleOfARun|TestTheStateFolderIsFull)$$' ./cmd/sbx-devc

# Neither netfilter's sockets nor seccomp exist under this emulator.
.PHONY: test-arm64
test-arm64: ## what needs no kernel of its own, as arm64 programs under qemu-aarch64-static (Debian: qemu-user-static); minutes
	GOARCH=arm64 CGO_ENABLED=0 go test -short -vet=off -count=1 -exec qemu-aarch64-static ./firewall/... ./settings ./agent ./internal/redact ./internal/tunnel ./internal/diag ./internal/jsonc ./cmd/sbx-init
	GOARCH=arm64 CGO_ENABLED=0 go test -vet=off -count=1 -exec qemu-aarch64-static ./firewall/resolver

.PHONY: test-sign
test-sign: setup build ## signatures by the real cosign and gh, and this gh at an opened host; both are compiled first: some minutes, once
	cd tools/sign && GOBIN=$(TOOLS)/sign go install -buildvcs=false tool .
	SBX_SIGN_TOOLS=$(TOOLS)/sign go test -count=1 -v -timeout 10m -run '^TestSignatures' ./cmd/sbx-devc
	SBX_SIGN_TOOLS=$(TOOLS)/sign go test -count=1 -v -timeout 10m -run '^Test(RealClientsOfTypedEntries|AttackOperationByRealClients)$$/^gh' ./cmd/sbx-init

.PHONY: release
release: ## build the release VERSION=1.2.3 and make its tag, with the checksums; pushes nothing
	@scripts/release tag $(VERSION)

.PHONY: release-dry-run
release-dry-run: setup build ## a whole release in act, with stand-ins for GitHub: build twice, publish, install in every way, smoke; takes minutes
	SBX_WORKFLOWS=1 go test -count=1 -v -timeout 40m -run '^TestWorkflowsPublish$$' ./cmd/sbx-devc

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (default 10s)
	@for dir in $(call packages_with,^func Fuzz); do \
	  for name in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | cut -d' ' -f2); do \
	    echo "$$dir $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$dir; \
	  done; \
	done

.PHONY: mutants
mutants: setup ## changed configurations, MUTANTS of them (default 200000), judged by us, the official schema and the engine's program
	SBX_MUTANTS=$(MUTANTS) SBX_SEED=$$(date +%s) go test -count=1 -v -timeout 2h -run '^(TestMutants|TestMutantsOfTheText)Agree$$' ./devcontainer/lint
	SBX_MUTANTS=$$(($(MUTANTS) / 200)) go test -count=1 -v -timeout 2h -run '^TestRunArgsAreRead' ./devcontainer/rights

.PHONY: lint-quality
lint-quality: setup ## precision of each rule, and what fix changes, in public repositories (SBX_LINT_CORPUS: OWNER+NAME/repo, git directories)
	go test -count=1 -timeout 20m -run '^Test(Quality|FixOnPublicFiles|FreshRepositories|DatabaseEntrypoints)$$' -v ./devcontainer/lint

# Compose as a part of the engine's command line, which Debian 12 has none of.
COMPOSE := v2.40.3
$(TOOLS)/docker/cli-plugins/docker-compose:
	mkdir -p $(@D)
	cd "$$(go mod download -json github.com/docker/compose/v2@$(COMPOSE) | jq -r .Dir)" && go build -o $@ ./cmd

.PHONY: lint-starts
lint-starts: setup $(TOOLS)/docker/cli-plugins/docker-compose ## ask the official CLI and the engine about each error of each written mistake; takes minutes (RULE=SBX310: only those)
	SBX_LINT_STARTS=1 SBX_LINT_STARTS_ONLY='$(RULE)' go test -count=1 -timeout 90m -parallel 2 -run '^TestErrorsKeepFromStarting$$' -v ./devcontainer/lint

.PHONY: soak
soak: ## the guard under full load for SOAK (default 10m): no leak of files or memory
	SBX_SOAK=$(SOAK) go test -count=1 -v -timeout 24h -run '^TestSoak$$' ./firewall/guard

.PHONY: golden
golden: ## rewrite the golden files from what the code does now; read the diff afterwards
	go test -short $(call packages_with,internal/test/golden") -update

.PHONY: bench
bench: build ## benchmarks, each for BENCHTIME (default 1s; 1x: once, to see that they run)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -timeout 60m $(call packages_with,^func Benchmark)

.PHONY: lint
lint: setup build cross ## gofmt, vet, staticcheck, actionlint, shellcheck, cross compilation
	@unformatted=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "gofmt wants: $$unformatted"; exit 1; }
	go vet ./...
	$(TOOLS)/bin/staticcheck ./...
	$(TOOLS)/bin/actionlint
	@# The examples of the pages, too, with the scripts in them.
	go test -run '^TestActionlintTakesTheExamples$$' ./action
	{ git ls-files -z '*.sh'; git grep -lzE '^#!.*sh$$' -- ':!*.md' ':!*.go' ':!*.txtar'; } | sort -zu | xargs -0 shellcheck -x

.PHONY: cross
cross: ## compile sbx-devc for the other systems it runs on, and tests for Windows, which has the least of unix
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build -buildvcs=false -o /dev/null ./cmd/sbx-devc
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -buildvcs=false -o /dev/null ./cmd/sbx-devc
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go vet -buildtag ./cmd/sbx-devc/... ./action

.PHONY: clean
clean: ## remove what build wrote; installed tools stay
	rm -rf bin internal/carried/bin/*.gz internal/carried/bin/*.sha256
