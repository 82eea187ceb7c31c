#!/usr/bin/env bash
# Sets up, builds, and runs every test and check. Ends with one line,
# `N passed, N failed, N skipped`, and fails if anything failed.
#
# The Python tests run three times, because what a user sees depends on what the
# cache holds: `cold`, with an empty cache; `warm`, in a new process with that
# cache, where nothing may be compiled; and `off`, without a cache. They are one
# process each, so that what takes one core runs beside something else.
set -uo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh || exit 1
scripts/build.sh || exit 1
ninja -C build tl-test-tools tl-unittests || exit 1

results=build/test-results
rm -rf "$results"
mkdir -p "$results"

# Runs one tool of which only success matters, and records it as one test.
check() {
  local name=$1
  shift
  echo "== $name"
  "$@"
  .venv/bin/python scripts/results.py record "$results/check-$name.xml" "$name" $?
}

# Runs commands at the same time, and shows what each of them printed.
trap 'jobs -pr | xargs -r kill' EXIT
together() {
  local command
  for command in "$@"; do
    $command >"$results/${command// /-}.log" 2>&1 &
  done
  wait
  for command in "$@"; do
    cat "$results/${command// /-}.log"
  done
}

# The shapes that are drawn on a GPU are those of the first run.
seed=$(date +%s)

# Runs the tests in test/NAME with the cache in one of its three states. What is
# `off` has no part in the directory of the others: tests of the cache itself
# turn it on again.
pytest_with_cache() {
  local folder=$1 state=$2 name="pytest-$1-$2" cache="cache-$1"
  local -a off=()
  [ "$state" = off ] && cache="cache-$1-off" off=(TL_DISABLE_CACHE=1)
  echo "== $name"
  env TL_TEST_SEED="$seed" TL_TEST_CACHE="$state" TL_CACHE_DIR="$PWD/$results/$cache" "${off[@]}" \
    .venv/bin/python -m pytest "test/$folder" --junitxml="$results/$name.xml"
  [ -f "$results/$name.xml" ] ||
    .venv/bin/python scripts/results.py record "$results/$name.xml" "$name" 1
}

echo "== lit"
/usr/lib/llvm-22/bin/lit -s --xunit-xml-output="$results/lit.xml" build/test
[ -f "$results/lit.xml" ] ||
  .venv/bin/python scripts/results.py record "$results/lit.xml" lit 1

unit_tests() {
  echo "== unit tests"
  GTEST_OUTPUT="xml:$PWD/$results/gtest/" \
    ctest --test-dir build --output-on-failure --output-junit "$PWD/$results/ctest.xml"
  [ -f "$results/ctest.xml" ] ||
    .venv/bin/python scripts/results.py record "$results/ctest.xml" ctest 1
}

static_checks() {
  local -a cxx python=(python test/fuzz test/python test/integration scripts docs/conf.py docs/site)
  mapfile -t cxx < <(git ls-files '*.cpp' '*.h')
  check clang-format clang-format-22 --dry-run --Werror "${cxx[@]}"
  check ruff-format .venv/bin/ruff format --check --quiet "${python[@]}"
  check ruff .venv/bin/ruff check --quiet "${python[@]}"
  check types .venv/bin/basedpyright
}

# Programs of fixed seeds: minutes on the CPU, compiled for each chip, and some in the simulator.
programs() {
  local name=$1
  shift
  check "$name" env -C test/fuzz "$PWD/.venv/bin/python" -m programs --refusals 1 --shrink 1 \
    --output "$PWD/$results/$name" "$@"
}
programs_on_the_cpu() {
  programs programs-cpu --count 1000
}
# Large products do not fit into the shared memory of chips before sm_90, which have no clusters.
programs_for_older_chips() {
  programs programs-gpu --count 100 --compile-only --without large_products,clusters --path sm_80/nvptx --path sm_89/nvptx
  programs programs-sim-sm80 --count 40 --without large_products,clusters --path sm_80/sim
}
programs_for_hopper() {
  programs programs-hopper --count 100 --compile-only --path sm_90a/nvptx
  programs programs-sim --count 40 --path sm_90a/sim
  programs programs-prints --prints --seed 500 --count 16 --path cpu --path sm_90a/sim
}

# The fuzzers are built in one process, so that what runs beside them has its core.
fuzzers() {
  CMAKE_BUILD_PARALLEL_LEVEL=1 check fuzz scripts/fuzz.sh 20
}

# Runs what needs nothing of the rest, the longest first: of each the lane that first comes to it.
what_is_left() {
  local job
  for job in fuzzers "pytest_with_cache python off" programs_on_the_cpu programs_for_older_chips \
    programs_for_hopper unit_tests static_checks; do
    mkdir "$results/begun-${job// /-}" 2>/dev/null && $job
  done
}

# Two lanes, a core each, that end at about the same time: what the cache holds passes
# from the cold run to the warm one.
one_lane() {
  pytest_with_cache python cold
  pytest_with_cache python warm
  what_is_left
}

together one_lane what_is_left
# On a GPU, where there is one: it is not shared.
for state in cold warm off; do
  pytest_with_cache integration "$state"
done

.venv/bin/python scripts/results.py summarize "$results"
