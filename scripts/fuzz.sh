#!/usr/bin/env bash
# Fuzzes what reads files that anyone may have written: `fuzz.sh [seconds]` runs
# each fuzzer for that long, 30 seconds by default, and fails if one finds
# something. What it finds is left in `build-fuzz/findings`; run the fuzzer with
# that file to see it again.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-30}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz

mkdir -p build-fuzz/findings
for fuzzer in build-fuzz/bin/fuzz/tl-fuzz-*; do
  name=${fuzzer##*/tl-fuzz-}
  # What is learnt is kept beside the build; the seeds are in the tree.
  mkdir -p "build-fuzz/corpus/$name"
  echo "fuzz: $name for $seconds s"
  ASAN_OPTIONS=allow_user_poisoning=0 "$fuzzer" "-max_total_time=$seconds" \
    -max_len=65536 -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
    "-artifact_prefix=build-fuzz/findings/$name-" \
    "build-fuzz/corpus/$name" "test/fuzz/corpus/$name"
done
