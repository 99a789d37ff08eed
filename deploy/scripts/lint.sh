#!/usr/bin/env bash
# All checks that do not run the program. Each check counts as one; the last line is `N passed, N failed`.
set -euo pipefail
shopt -s extglob
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/scripts/report.sh
source deploy/scripts/report.sh

# The analysers read export data. With the flags of build.sh they share the export data of the binary. Other flags would
# compile the standard library and all dependencies again, which takes a minute and a half on two cores.
export CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath"
# With more memory for garbage, analysers need a third less processor time.
export GOGC=400

# The fixed names of the top level, and files that tools expect there.
allowed=(README.md justfile go.mod go.sum .ci .editorconfig .gitignore
  app streams realtime frontend migrations deploy)

# sources PATTERN…: files of the working tree that git tracks or could add.
sources() {
  local file
  git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do
    [[ ! -e $file ]] || printf '%s\n' "$file"
  done
}

top_level() {
  local strange
  strange=$(sources | cut -d/ -f1 | sort -u | grep -vxF "$(printf '%s\n' "${allowed[@]}")" || true)
  [[ -z $strange ]] || { printf 'unexpected name at the top level: %s\n' $strange && return 1; }
}

formatted() {
  local files
  files=$(sources '*.go' | xargs -d '\n' .run/tools/gofumpt -l -modpath stampede -lang go1.26) || return 1
  [[ -z $files ]] || { printf 'just fmt would change %s\n' $files && return 1; }
}

# A file has at most 500 lines. Longer files usually mix two subjects.
lengths() {
  local long
  long=$(sources '*.go' '*.ts' '*.vue' '*.lua' '*.sh' | xargs -d '\n' wc -l |
    awk '$2 != "total" && $1 > 500 { print $2 " has " $1 " lines, 500 is the limit" }')
  [[ -z $long ]] || { echo "$long" && return 1; }
}

# Go lines have at most 120 columns; a tab counts as four. The contents of strings do not count, nor do drawings in
# comments, which start with a tab or spaces.
columns() {
  local wide
  wide=$(sources '*.go' | xargs -d '\n' awk '
    FNR == 1 { raw = 0 }
    {
      while (tab = index($0, "\t")) $0 = substr($0, 1, tab - 1) substr("    ", 1, 4 - (tab - 1) % 4) substr($0, tab + 1)
      line = $0; ticks = gsub(/`/, "`", line); inside = raw; if (ticks % 2) raw = !raw
    }
    inside || ticks % 2 || /^ *\/\/(  |    )/ { next }
    { gsub(/`[^`]*`/, "``"); gsub(/"([^"\\]|\\.)*"/, "\"\"") }
    length() > 120 { print FILENAME ":" FNR " is " length() " columns wide, 120 is the limit" }')
  [[ -z $wide ]] || { echo "$wide" && return 1; }
}

shell_syntax() {
  local file
  sources '*.sh' .ci/run | while IFS= read -r file; do
    bash -n "$file" || exit 1
  done
}

# Every mutation applies, and names tests that exist.
mutations() {
  local file package test
  for file in deploy/mutations/*; do
    .run/tools/mutate -n "$file" || { echo "$file does not apply" && return 1; }
    read -r package test <<<"$(sed -n 's/^Test: //p' "$file")"
    grep -qhE "^func ($test)\(t \*testing\.T\)" "$package"/*_test.go ||
      { echo "$file names the test $test, which $package does not have" && return 1; }
  done
}

# Every test that a document, a script or a mutation names exists. WRITING.md has invented names.
test_names() {
  local missing
  missing=$(sources '*.md' '*.sh' '*.edit' | grep -vxF deploy/WRITING.md |
    xargs -d '\n' grep -ohE '\b(Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]+' | sort -u | grep -vxFf <(sources '*_test.go' |
    xargs -d '\n' grep -ohE '^func (Test|Fuzz|Benchmark)[A-Za-z0-9]+' | cut -d' ' -f2) || true)
  [[ -z $missing ]] || { printf 'the test %s is named and does not exist\n' $missing && return 1; }
}

# SAFETY.md names every mutation.
safety() {
  local missing
  missing=$(for file in deploy/mutations/*.edit; do
    file=${file##*/}
    grep -qwF -e "${file%.edit}" deploy/SAFETY.md || echo "${file%.edit}"
  done)
  [[ -z $missing ]] || { printf 'deploy/SAFETY.md does not name the mutation %s\n' $missing && return 1; }
}

# A README link whose text is a declaration (Type.method, or a name) points to the file that declares it.
readme() {
  local name file failed=0
  while IFS=$'\t' read -r name file; do
    grep -qE "^(func|type) (\(\w+ \*?${name%.*}(\[\w+\])?\) )?${name#*.}\>" "$file" ||
      { echo "README.md: $file does not declare $name" && failed=1; }
  done < <(grep -oE '\[[A-Za-z]+(\.[A-Za-z]+)?\]\([^)]+\.go\)' README.md | grep -vE '^\[\w+\.go\]' |
    sed -E 's/\[(.*)\]\((.*)\)/\1\t\2/')
  return $failed
}

# The log messages that RUNBOOK, the alarms and the checklist of a sale quote are in the code.
messages() {
  local message failed=0
  while IFS= read -r message; do
    git grep -qF -e "$message" -- '*.go' ':!*_test.go' ':!app/board' ':!app/backoffice/readiness.go' ||
      { echo "no code logs \"$message\"" && failed=1; }
  done < <(grep -ohP 'msg="\K[^"]+|\blogs?\b[^"]*"\K[^"]+' deploy/RUNBOOK.md
    grep -ohP '\blog for \\?["'"'"']\K[^\\"'"'"']+' app/board/*.go app/backoffice/readiness.go)
  return $failed
}

# Each go.mod and the Dockerfile name the same Go version. npm packages are pinned: the registry supports no audits.
versions() {
  local file
  sources 'go.mod' '*/go.mod' | while IFS= read -r file; do
    grep -qxF "toolchain go$(sed -n 's/^FROM golang:\([0-9.]*\)-.*/\1/p' deploy/Dockerfile)" "$file" ||
      { echo "$file and deploy/Dockerfile name different versions of Go" && exit 1; }
  done || return 1
  node -e 'const { dependencies, devDependencies } = require("./frontend/package.json")
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, v]) => !/^\d+\.\d+\.\d+$/.test(v))
    for (const [name, v] of loose) console.log(`frontend/package.json: ${name} ${v} is not an exact version`)
    process.exit(loose.length ? 1 : 0)'
}

# The subject of a commit is `package: imperative`, at most 72 characters, without a path outside the package. The
# subject of a merge names the merged work. The rule covers the commits after this one; a history without it is checked
# at its end only.
before_rule=49479683af6734d23415b8adb9bbcfd5020c98c2
subjects() {
  local range=HEAD failed=0 subject
  if git cat-file -e "$before_rule^{commit}" 2>/dev/null; then range=$before_rule..HEAD; else range='-1 HEAD'; fi
  while IFS= read -r subject; do
    [[ $subject != Revert\ * ]] || continue
    ((${#subject} <= 72)) || { echo "${#subject} characters, 72 is the limit: $subject" && failed=1; }
    [[ ${subject#+([a-z0-9/_.-]): } != */* ]] || { echo "a path in the subject: $subject" && failed=1; }
  done < <(git log --format=%s $range)
  return $failed
}

# Code behind build tags (abuse, crash suite and crash points, baselines of benchmarks, soak) is checked with all tags
# at once, because each set of tags compiles all dependents again. A second pass without tags checks the packages whose
# files these tags exclude.
tags=abuse,bench,cluster,crashpoints,soak
mapfile -t untagged < <(sources '*.go' | xargs -d '\n' grep -lE "^//go:build .*!(${tags//,/|})" | xargs -r -d '\n' dirname |
  sort -u | sed 's|^|./|')

# The tags are in GOFLAGS: as a flag of go vet they would not reach the vet tool.
vetted() {
  local vet=(go vet -vettool="$PWD/.run/tools/vet")
  GOFLAGS="$GOFLAGS -tags=$tags" "${vet[@]}" ./... && "${vet[@]}" "${untagged[@]}"
}

statically_checked() { .run/tools/staticcheck -tags "$tags" ./... && .run/tools/staticcheck "${untagged[@]}"; }

tools_module() { cd deploy/tools && go vet -vettool=../../.run/tools/vet ./... && go test -vet=off ./...; }

frontend_lint() { deploy/scripts/build.sh packages && npm --prefix frontend run --silent lint; }

begin frontend_lint
page=$begun
check 'tools build' deploy/scripts/tools.sh || { finish; exit 1; }
check 'top level' top_level || true
check 'file lengths' lengths || true
check 'line widths' columns || true
check 'gofumpt' formatted || true
check 'imports point inward (layers)' .run/tools/layers || true
check 'plain words (WRITING.md)' .run/tools/words || true
check 'go vet, and bodies are read raw' vetted || true
check 'staticcheck' statically_checked || true
check 'the tools module' tools_module || true
check 'shell syntax' shell_syntax || true
check 'subjects of commits' subjects || true
check 'versions of Go agree, npm packages are pinned' versions || true
check 'systemd units (verify, security)' deploy/scripts/deploycheck.sh units || true
check 'mutations apply and name tests that exist' mutations || true
check 'named tests exist' test_names || true
check 'SAFETY.md names every mutation' safety || true
check 'links of the README name declarations' readme || true
check 'quoted log messages exist' messages || true
end "$page" check 'page (eslint, prettier, vue-tsc)' || true
finish
