set positional-arguments

# The Go version of go.mod's toolchain line, downloaded if the installed one is older.
export GOTOOLCHAIN := "auto"

# List the recipes
_default:
    @just --list --unsorted

# Build everything and run the shop on embedded stores (--listen --data --shoppers)
demo *args: build
    @bin/stampede demo "$@"

# The test command: install what is missing, build, lint, test everything, also in a browser (ten minutes on two cores)
[no-exit-message]
test:
    @deploy/scripts/test.sh

# Work on the page: the demo behind Vite's hot reload
dev:
    @deploy/scripts/dev.sh

# Build the page and bin/stampede
build:
    @deploy/scripts/build.sh

# Test the program from outside, as a process on private Redis and MariaDB (flags as of go test)
[no-exit-message]
e2e *flags:
    @deploy/scripts/services.sh run deploy/scripts/go-test.sh "$@" ./app/test/e2e

# Kill everything while people buy, and prove that nothing was lost (--long --seed N --point NAME --run NAME)
[no-exit-message]
crash *flags:
    @deploy/scripts/crash.sh "$@"

# Restart every node of a shop, one after the other, while people buy (--write -crowd N -rounds N -seed N)
[no-exit-message]
rolling *flags:
    @deploy/scripts/rolling.sh "$@"

# Abuse the shop from one address and print the p99 of shoppers at other addresses, beside cheap requests
[no-exit-message]
attack:
    @deploy/scripts/attack.sh

# Let the demo run for long: every slot moves, nothing grows (how long, slots of, shoppers; 1h 5m 100)
[no-exit-message]
soak *args:
    @deploy/scripts/soak.sh "$@"

# Sell on a Redis Cluster and behind sentinels while primaries die and slots move (redis or valkey9, flags as of go test)
[no-exit-message]
cluster *args:
    @deploy/scripts/cluster.sh "$@"

# Test on MySQL 9, MariaDB 11, Redis 8 and Valkey from Debian, and on a Galera node (mysql9+redis8, … galera)
[no-exit-message]
matrix *pairs:
    @deploy/scripts/matrix.sh "$@"

# Measure everything beside its simple way, write deploy/load/RESULTS.md (--rounds N --scale X --render)
bench *flags:
    @deploy/scripts/bench.sh "$@"

# Check the alert rules with the real Prometheus, and let each alert fire once in a live run (rules: only the first part)
[no-exit-message]
alerts *part:
    @deploy/scripts/alerts.sh "$@"

# Make each trouble of the runbook, apply its remedy and audit; prints transcripts (all drills, or some by name)
[no-exit-message]
drills *names:
    @deploy/drills/run.sh "$@"

# Prove that the tests can fail: break one clause at a time and see the named test fail (file name patterns, or --since BASE)
[no-exit-message]
mutations *args:
    @deploy/scripts/mutations.sh "$@"

# Look for tests that fail at random: the test command N times under a load (N 1, load 6)
[no-exit-message]
flaky *args:
    @deploy/scripts/flaky.sh "$@"

# Check what ships for deployment: systemd units, Kubernetes and compose files, nginx with 10,000 sockets (files, sockets: a part)
[no-exit-message]
deploycheck *part:
    @deploy/scripts/deploycheck.sh "$@"

# Fuzz every decoder: seconds for each (60), a pattern for their names
[no-exit-message]
fuzz *args:
    @deploy/scripts/fuzz.sh "$@"

# Check formatting, imports, static analysis, the page
[no-exit-message]
lint:
    @deploy/scripts/lint.sh

# Format Go and the page
fmt:
    @deploy/scripts/fmt.sh

# Private Redis and MariaDB to develop on: eval "$(just services)"; just services stop
services *args='start':
    @deploy/scripts/services.sh "$@"

# Known vulnerabilities in what the program calls
[no-exit-message]
vuln:
    @deploy/scripts/vuln.sh

# Before an issue is reported as done: test, vulnerabilities, short crash suite, mutations that changed since commit BASE
[no-exit-message]
ready base:
    @deploy/scripts/test.sh --ready "$@"

# Print the structure of the Go code beside its targets; a report (--list, --buy COVERPROFILE)
[no-exit-message]
shape *flags:
    @deploy/scripts/tools.sh && .run/tools/shape "$@"
