#!/usr/bin/env bash
# From a fresh Debian 12 to a kernel that has run: sets up, builds, and compiles
# and runs a GEMM on this machine's GPU, or on its CPU where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh
.venv/bin/python -m tilec.quickstart
