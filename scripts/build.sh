#!/usr/bin/env bash
# Builds the compiler into `build/` and installs the Python package into `.venv`
# from the same build. Needs what scripts/setup.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."

options=(-DPython_EXECUTABLE="$PWD/.venv/bin/python")
command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
mkdir -p build
cmake --preset release "${options[@]}" >build/configure.log 2>&1 || {
  cat build/configure.log >&2
  exit 1
}
ninja -C build

# Without isolation, because the build needs only what `.venv` has already; in
# `build/`, because all is there already: others have a folder of their own.
.venv/bin/pip install -q --disable-pip-version-check --no-build-isolation --no-deps \
  --config-settings=build-dir=build .
