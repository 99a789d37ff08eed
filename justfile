set positional-arguments

# The toolchain line of go.mod selects the Go version. An older installed Go downloads it.
export GOTOOLCHAIN := "auto"

# List the recipes
_default:
    @just --list --unsorted

# Build everything and run the shop on embedded stores (--listen --data --shoppers)
demo *args: build
    @bin/stampede demo "$@"

# The test command: install missing tools, build, lint, run all tests, also in a browser (ten minutes on two cores)
[no-exit-message]
test:
    @deploy/scripts/test.sh

# Run the demo behind Vite's hot reload, to work on the page
dev:
    @deploy/scripts/dev.sh

# Build the page and bin/stampede
build:
    @deploy/scripts/build.sh

# Write a contact sheet of each page of the shop to .run/sheets: four widths, both themes, both languages
screenshots: build
    @SMOKE_SHEETS=$PWD/.run/sheets deploy/scripts/smoke.sh

# Test the program from outside, as a process on private Redis and MariaDB (flags of go test)
[no-exit-message]
e2e *flags:
    @deploy/scripts/services.sh run deploy/scripts/go-test.sh "$@" ./app/test/e2e

# Kill processes and stores during buys and prove that nothing is lost (--long --seed N --point NAME --run NAME)
[no-exit-message]
crash *flags:
    @deploy/scripts/crash.sh "$@"

# Restart every node of a shop during buys, one after the other (--write -crowd N -rounds N -seed N)
[no-exit-message]
rolling *flags:
    @deploy/scripts/rolling.sh "$@"

# Abuse the shop from one address; compare the p99 of other shoppers with their p99 during cheap requests
[no-exit-message]
attack:
    @deploy/scripts/attack.sh

# Run the demo for a long time: every slot moves, nothing grows (duration, length of a slot, shoppers; 1h 5m 100)
[no-exit-message]
soak *args:
    @deploy/scripts/soak.sh "$@"

# Sell on a Redis Cluster and behind Sentinel while primaries die and slots move (redis, redis8, valkey9, go test flags)
[no-exit-message]
cluster *args:
    @deploy/scripts/cluster.sh "$@"

# Test on MySQL 9, MariaDB 11, Redis 8 and Valkey from Debian, and on a Galera node (mysql9+redis8, … galera)
[no-exit-message]
matrix *pairs:
    @deploy/scripts/matrix.sh "$@"

# Benchmark everything against simple baselines, write deploy/load/RESULTS.md (--rounds N --scale X --render)
bench *flags:
    @deploy/scripts/bench.sh "$@"

# Check the alert rules with Prometheus, then fire each alert once in a live run (rules: no live run)
[no-exit-message]
alerts *part:
    @deploy/scripts/alerts.sh "$@"

# Cause each problem of the runbook, apply its remedy and audit; prints transcripts (all drills, or some by name)
[no-exit-message]
drills *names:
    @deploy/drills/run.sh "$@"

# Prove that the tests can fail: apply one mutation at a time, its test must fail (file name patterns, or --since BASE)
[no-exit-message]
mutations *args:
    @deploy/scripts/mutations.sh "$@"

# Find tests that fail at random: run the test command N times under a load (N 1, load 6)
[no-exit-message]
flaky *args:
    @deploy/scripts/flaky.sh "$@"

# Check the deployment files: systemd, Kubernetes, compose, nginx with 10,000 sockets (files, sockets: one part)
[no-exit-message]
deploycheck *part:
    @deploy/scripts/deploycheck.sh "$@"

# Fuzz every decoder (seconds for each: 60, a pattern of names)
[no-exit-message]
fuzz *args:
    @deploy/scripts/fuzz.sh "$@"

# Check formatting, imports, static analysis and the page
[no-exit-message]
lint:
    @deploy/scripts/lint.sh

# Format Go and the page
fmt:
    @deploy/scripts/fmt.sh

# Start private Redis and MariaDB for development: eval "$(just services)"; just services stop
services *args='start':
    @deploy/scripts/services.sh "$@"

# Report known vulnerabilities in the code that the program calls
[no-exit-message]
vuln:
    @deploy/scripts/vuln.sh

# Run this before an issue is done: test, vulnerabilities, short crash suite, mutations changed since commit BASE
[no-exit-message]
ready base:
    @deploy/scripts/test.sh --ready "$@"

# Print figures of the structure of the Go code with their targets (--list, --buy COVERPROFILE)
[no-exit-message]
shape *flags:
    @deploy/scripts/tools.sh && .run/tools/shape "$@"
