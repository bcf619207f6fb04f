#!/bin/sh
# Runs a command with Node 24, pnpm and the workspace's dependencies installed:  sh scripts/with-toolchain.sh COMMAND…
#
# Needs any Node that npm runs on. If Node 24 or pnpm is missing, both come once from the npm registry into
# .toolchain/. Dependencies are installed when a lock file or manifest changed since the last complete installation.
# With everything installed it only compares a checksum and needs no network. The command replaces this shell, so
# that signals reach it.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
node_major=24
pnpm_version=$(sed -n 's/.*"packageManager": *"pnpm@\([^"]*\)".*/\1/p' package.json)
toolchain="$root/.toolchain/node-$node_major-pnpm-$pnpm_version"
stamp="$root/node_modules/.installed"
lock="$root/.toolchain/lock"
child='' scratch='' locked=''

clean_up() {
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null || :
    wait "$child" || :
  fi
  # The next installation removes files that a child of the child still writes there.
  [ -z "$scratch" ] || rm -rf "$scratch" 2>/dev/null || :
  [ -z "$locked" ] || rm -f "$lock"
  child='' scratch='' locked=''
}
trap clean_up EXIT
trap 'clean_up; exit 130' INT
trap 'clean_up; exit 143' TERM HUP

say() { printf '%s\n' "$*" >&2; }

# quietly WHAT COMMAND…: shows the command's output only if it fails. It runs as a background job, so that a signal ends it at once.
quietly() {
  what=$1
  shift
  "$@" >"$scratch/log" 2>&1 </dev/null &
  child=$!
  status=0
  wait "$child" || status=$?
  child=''
  [ "$status" -eq 0 ] && return
  cat "$scratch/log" >&2
  say "$what failed; the reason is above. It is tried again at the next start."
  exit 1
}

major_of() { "$1" --version 2>/dev/null | sed 's/^v//; s/\..*//'; }
at_least() { case $1 in '' | *[!0-9]*) return 1 ;; *) [ "$1" -ge "$2" ] ;; esac; }
machine_is_enough() { at_least "$(major_of node)" "$node_major" && [ "$(major_of pnpm)" = "${pnpm_version%%.*}" ]; }

# The lock is a symbolic link whose target is the holder's process id: made in one step, never half written.
take_lock() {
  mkdir -p "$root/.toolchain"
  reported=''
  until ln -s "$$" "$lock" 2>/dev/null; do
    holder=$(readlink "$lock" || :)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
      mv "$lock" "$lock.$$" 2>/dev/null && rm -f "$lock.$$"
      continue
    fi
    [ -n "$reported" ] || [ -z "$holder" ] ||
      say "Waiting for the installation that process $holder is doing (if it is not one, delete $lock)."
    [ -z "$holder" ] || reported=yes
    sleep 1
  done
  locked=yes
  # Removes the remains of an installation that was killed.
  rm -rf "$root"/.toolchain/scratch.* 2>/dev/null || :
  scratch="$root/.toolchain/scratch.$$"
  mkdir "$scratch"
}

leave_lock() {
  rm -rf "$scratch"
  rm -f "$lock"
  scratch='' locked=''
}

checksum() {
  set -- pnpm-lock.yaml pnpm-workspace.yaml package.json
  for manifest in */package.json */*/package.json; do
    case $manifest in node_modules/*) ;; *) set -- "$@" "$manifest" ;; esac
  done
  cksum "$@"
  node --version
}

if machine_is_enough; then
  PATH="$root/node_modules/.bin:$PATH"
else
  PATH="$toolchain/node_modules/.bin:$root/node_modules/.bin:$PATH"
  if [ ! -d "$toolchain" ]; then
    take_lock
    if [ ! -d "$toolchain" ]; then
      say "Installing Node $node_major and pnpm $pnpm_version into .toolchain/ (first start only, about 10 s) …"
      # The packages `node` and `pnpm` install their binaries with install scripts.
      quietly 'Installing Node and pnpm from the npm registry' npm install --prefix "$scratch" --no-save --no-package-lock \
        --no-audit --no-fund --prefer-offline --global=false --ignore-scripts=false "node@$node_major" "pnpm@$pnpm_version"
      rm -f "$scratch/log"
      mv "$scratch" "$toolchain"
      scratch=''
    fi
    leave_lock
  fi
fi
export PATH

if [ "$(checksum)" != "$(cat "$stamp" 2>/dev/null || :)" ]; then
  take_lock
  if [ "$(checksum)" != "$(cat "$stamp" 2>/dev/null || :)" ]; then
    say 'Installing dependencies (after a fresh clone or an update, 10 s to a minute) …'
    quietly 'Installing dependencies' env CI=true pnpm install --frozen-lockfile
    checksum >"$stamp.new"
    mv "$stamp.new" "$stamp"
  fi
  leave_lock
fi

trap - EXIT INT TERM HUP
exec "$@"
