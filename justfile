set positional-arguments

# List the recipes
_default:
    @just --list --unsorted

# Build everything and run the shop on embedded stores (--listen --data --shoppers)
demo *args: build
    @bin/stampede demo "$@"

# Install what is missing, then lint and test everything, in a browser too
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
    @deploy/scripts/services.sh run deploy/scripts/go-test.sh -race "$@" ./app/test/e2e/...

# Kill everything while people buy, and prove that nothing was lost (--long --seed N --point NAME --run NAME)
[no-exit-message]
crash *flags:
    @deploy/scripts/crash.sh "$@"

# Let the demo run for long: every slot moves, nothing grows (how long, slots of, shoppers; 1h 5m 100)
[no-exit-message]
soak *args:
    @deploy/scripts/soak.sh "$@"

# Test on MySQL 9 with Redis 8 and Valkey 9, fetched from Debian into a private folder (pairs like mysql9+redis8)
[no-exit-message]
matrix *pairs:
    @deploy/scripts/matrix.sh "$@"

# Measure everything beside its simple way, write deploy/load/RESULTS.md (--rounds N --scale X --render)
bench *flags:
    @deploy/scripts/bench.sh "$@"

# Put known defects into the program, one by one, and see the named tests fail; a word selects defects (--short)
[no-exit-message]
controls *pattern:
    @deploy/scripts/controls.sh "$@"

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

# What a change has to pass: test, and the short forms of crash and controls
[no-exit-message]
ready:
    @deploy/scripts/test.sh --ready
