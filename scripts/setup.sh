#!/usr/bin/env bash
# Installs what a Debian 12 machine lacks to build and test TL: packages with
# apt (as root, or with sudo), and Python tools into `.venv`. Does nothing, and
# says nothing, when all is there. A GPU and CUDA are not needed.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  ca-certificates ccache chromium-headless-shell clang-22 clang-format-22
  clang-tidy-22 cmake g++ git
  libclang-rt-22-dev
  libcurl4-openssl-dev libgtest-dev libmlir-22-dev libzstd-dev lld-22
  llvm-22-dev llvm-22-tools mlir-22-tools nginx ninja-build openssl python3
  python3-dev python3-venv redis-server zlib1g-dev
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
    missing+=("$package")
done
if ((${#missing[@]})); then
  echo "setup: installing with apt: ${missing[*]}"
  run=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      echo "setup: run this as root, or install sudo" >&2
      exit 1
    }
    run=(sudo)
  fi
  export DEBIAN_FRONTEND=noninteractive
  "${run[@]}" apt-get update -qq
  # The tests start their own servers: the packages' services stay off, now and
  # after a restart. Debian asks this file before it starts any.
  policy=/usr/sbin/policy-rc.d
  if ! [ -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${run[@]}" install -m 755 /dev/stdin "$policy"
    trap '"${run[@]}" rm -f "$policy"' EXIT
  fi
  "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  for service in nginx redis-server; do
    if [[ " ${missing[*]} " == *" $service "* ]] && command -v systemctl >/dev/null; then
      "${run[@]}" systemctl disable -q "$service" || true
    fi
  done
fi

# Debian's own interpreter: the one that `python3-dev` has headers for.
if ! [ -x .venv/bin/python ]; then
  echo "setup: making .venv"
  /usr/bin/python3 -m venv .venv
fi
requirements=scripts/requirements.txt
stamp=.venv/requirements.txt
if ! cmp -s "$requirements" "$stamp"; then
  echo "setup: installing into .venv: $(grep -v '^#' "$requirements" | tr '\n' ' ')"
  .venv/bin/pip install -q --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$stamp"
fi
