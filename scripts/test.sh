#!/usr/bin/env bash
# Sets up, builds, and runs every test and check. Ends with one line,
# `N passed, N failed, N skipped`, and fails if anything failed.
#
# The Python tests run three times, because what a user sees depends on what the
# cache holds: `cold`, with an empty cache; `warm`, in a new process with that
# cache, where nothing may be compiled; and `off`, without a cache.
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

# Runs the Python tests in a folder with the cache in one of its three states.
pytest_with_cache() {
  local folder=$1 state=$2 name
  shift 2
  name="pytest-$(basename "$folder")-$state"
  echo "== $name"
  env TL_TEST_CACHE="$state" TL_CACHE_DIR="$PWD/$results/cache-$(basename "$folder")" "$@" \
    .venv/bin/python -m pytest "$folder" --junitxml="$results/$name.xml"
  [ -f "$results/$name.xml" ] ||
    .venv/bin/python scripts/results.py record "$results/$name.xml" "$name" 1
}

echo "== lit"
/usr/lib/llvm-22/bin/lit -s --xunit-xml-output="$results/lit.xml" build/test
[ -f "$results/lit.xml" ] ||
  .venv/bin/python scripts/results.py record "$results/lit.xml" lit 1

echo "== unit tests"
GTEST_OUTPUT="xml:$PWD/$results/gtest/" \
  ctest --test-dir build --output-on-failure --output-junit "$PWD/$results/ctest.xml"
[ -f "$results/ctest.xml" ] ||
  .venv/bin/python scripts/results.py record "$results/ctest.xml" ctest 1

# On a GPU, where there is one: the shapes that are drawn are those of the first run.
seed=$(date +%s)
for folder in test/python test/integration; do
  pytest_with_cache "$folder" cold TL_TEST_SEED="$seed"
  pytest_with_cache "$folder" warm TL_TEST_SEED="$seed"
  pytest_with_cache "$folder" off TL_TEST_SEED="$seed" TL_DISABLE_CACHE=1
done

mapfile -t cxx < <(git ls-files '*.cpp' '*.h')
check clang-format clang-format-22 --dry-run --Werror "${cxx[@]}"
check ruff-format .venv/bin/ruff format --check --quiet python test/fuzz test/python test/integration scripts
check ruff .venv/bin/ruff check --quiet python test/fuzz test/python test/integration scripts
check types .venv/bin/basedpyright
check fuzz scripts/fuzz.sh 20
# Programs of fixed seeds: three minutes on the CPU, and compiled for each chip.
programs() {
  env -C test/fuzz "$PWD/.venv/bin/python" -m programs --workers 2 --refusals 1 --shrink 1 "$@"
}
check programs-cpu programs --count 1000 --output "$PWD/$results/programs-cpu"
check programs-gpu programs --count 100 --compile-only --path sm_80/nvptx --path sm_89/nvptx \
  --path sm_90a/nvptx --output "$PWD/$results/programs-gpu"

.venv/bin/python scripts/results.py summarize "$results"
