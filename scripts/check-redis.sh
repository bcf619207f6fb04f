#!/bin/sh
# Whether a Redis can be started here: a server that is new enough, or the right to install one. Runs before anything is
# installed, so without Node; packages/redis-server finds and installs it.
set -eu

for command in redis-server valkey-server; do
  # "Redis server v=7.0.15 sha=…"
  version=$("$command" --version 2>/dev/null | sed -n 's/.* v=\([0-9]*\.[0-9]*\).*/\1/p') || continue
  major=${version%%.*} minor=${version#*.}
  [ -n "$version" ] || continue
  if [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 2 ]; }; then exit 0; fi
  old="${old-}${old:+, }$command $version"
done
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then exit 0; fi

if [ -n "${old-}" ]; then echo "Redis is too old here ($old)." >&2; else echo 'Redis is not installed here.' >&2; fi
echo 'Install redis-server or valkey-server 6.2 or newer (Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis), or set REDIS_URL to a Redis that is already running.' >&2
exit 1
