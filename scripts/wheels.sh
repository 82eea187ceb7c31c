#!/usr/bin/env bash
# Makes the wheels for all versions of Python into `dist/`, and tries each:
# `wheels.sh [python...]`. One is for Python 3.11, one for 3.12 and all later.
# They hold the same compiler, which is built once; each interpreter compiles
# the extension only, in a folder of its own (`build-dir` in pyproject.toml).
#
# The interpreters need headers. By default they are those named python3.11 to
# python3.14 on the path, and pyenv's.
set -euo pipefail
cd "$(dirname "$0")/.."

# What is not older than this glibc takes the wheels: Ubuntu 22.04 has 2.35,
# Debian 12 has 2.36. `auditwheel` fails if they need a later one, or another
# library.
platform=manylinux_2_35_x86_64

scripts/setup.sh
scripts/build.sh
compiler=$PWD/build/compiler
rm -rf "$compiler"
cmake --install build --component compiler --prefix "$compiler" --strip >/dev/null

# The first interpreter of each version, as `[3.12]=/usr/bin/python3.12`.
declare -A found
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }
if (($# == 0)); then
  set -- python3.{11..14} "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python
fi
for python; do
  if v=$(version "$python") && [[ $v =~ ^3\.1[1-9]$ ]]; then
    : "${found[$v]:=$python}"
  fi
done
mapfile -t versions < <(printf '%s\n' "${!found[@]}" | sort -V)
stable=$(printf '%s\n' "${versions[@]}" | grep -vx 3.11 | head -1 || true)

# Makes a wheel with a version of Python.
make_wheel() {
  local made=build/wheels/made-$1 tools=build/wheels/tools-$1
  echo "wheels: building with Python $1, ${found[$1]}"
  [ -x "$tools/bin/pip" ] || "${found[$1]}" -m venv "$tools"
  rm -rf "$made"
  "$tools/bin/python" -m pip wheel -q --disable-pip-version-check . --no-deps -w "$made" \
    --config-settings="cmake.define.TL_COMPILER=$compiler"
  PATH="$PWD/.venv/bin:$PATH" .venv/bin/auditwheel repair --plat "$platform" -w dist "$made"/*.whl >/dev/null
}

rm -f dist/tilec-*.whl
for v in 3.11 "$stable"; do
  if [ -n "$v" ] && [ -n "${found[$v]:-}" ]; then
    make_wheel "$v"
  else
    echo "wheels: no Python ${v:-3.12 or later} is here, so there is no wheel for it" >&2
  fi
done

# Tries what pip chooses, in an environment with nothing else.
for v in "${versions[@]}"; do
  place=build/wheels/try-$v
  rm -rf "$place"
  "${found[$v]}" -m venv "$place"
  "$place/bin/python" -m pip install -q --disable-pip-version-check --no-index --find-links dist tilec
  "$place/bin/tl-opt" --version >/dev/null
  TL_CACHE_DIR="$PWD/$place/cache" "$place/bin/python" -m tilec.quickstart >"$place/quickstart.log" || {
    cat "$place/quickstart.log" >&2
    exit 1
  }
  echo "wheels: Python $v: a kernel ran"
done
ls -1 dist/tilec-*.whl
