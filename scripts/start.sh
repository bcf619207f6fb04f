#!/bin/sh
# `npm start`: checks arguments and Redis before it installs anything, then runs the gateway.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

help() {
  cat <<'END'
Usage: npm start

Runs the whole gateway on this machine, in the foreground, with a Redis of its own; Ctrl-C stops all of it. The first start installs
what it needs into this folder. Settings come from the environment or from a file .env in this folder:

  PORT                                 where callers reach it (8080)
  OPENAI_API_KEY, ANTHROPIC_API_KEY    make channels to these providers; without any, a built-in simulator answers
  GATEWAY_CONFIG                       channels and models of your own (gateway.yaml; gateway.example.yaml shows every setting)
  GATEWAY_PROCESSES                    one: the edge, the services and admin in one process, workers in a second; each: a process for each (one)
  REDIS_URL                            a Redis that runs already, 6.2 or newer
  DATABASE_URL                         a PostgreSQL for keys and usage, 13 or newer (a file in the data folder)
  GATEWAY_DATA_DIR                     where keys, images and Redis' files are kept (.data)
  LOG_LEVEL                            fatal, error, warn, info, debug, trace or silent (info)
  LOG_FORMAT                           pretty or json (pretty on a terminal, else json)

All others: docs/configuration.md. Keys, teams and usage, while it runs: npm run gateway -- --help
END
}

for argument; do
  case $argument in
  -h | --help)
    help
    exit 0
    ;;
  *)
    echo "npm start takes no argument $argument; settings are variables, such as PORT=8180 npm start. See npm start -- --help." >&2
    exit 2
    ;;
  esac
done

# The services read the same file; here only whether it names a Redis counts.
[ -n "${REDIS_URL-}" ] || grep -Eqs '^[[:space:]]*(export[[:space:]]+)?REDIS_URL[[:space:]]*=[[:space:]]*[^[:space:]]' "$root/.env" ||
  sh "$root/scripts/check-redis.sh"

# Only with this variable the cache holds the starter's first files too. An installation does not get it.
exec sh "$root/scripts/with-toolchain.sh" env NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$root/node_modules/.cache/compile}" \
  node "$root/packages/stack/src/main.ts"
