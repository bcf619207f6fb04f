#!/bin/bash
# Succeeds when the process at HEALTH_URL (http://HOST:PORT/PATH) answers 200. Bash alone: the image has no curl.
set -u

[[ ${HEALTH_URL-} =~ ^http://([^:/]+):([0-9]+)(/.*)$ ]] || {
  echo 'HEALTH_URL must be http://HOST:PORT/PATH.' >&2
  exit 1
}
host=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]} path=${BASH_REMATCH[3]}
exec 3<>"/dev/tcp/$host/$port" || exit 1
printf 'GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n' "$path" "$host" "$port" >&3
read -r -t 4 _ status _ <&3 && [[ $status == 200 ]]
