#!/usr/bin/env bash
# Stream Load with curl.
#
#   USER=… PASSWORD=… load_curl.sh http://fe:8030 db table file.csv
#
# --location-trusted follows the 307 with the login. For files over 1 MB curl sends
# `Expect: 100-continue` by itself, so the file goes to the backend alone.
set -euo pipefail
# The login comes from standard input, where ps does not show it. curl reads
# backslashes and quotes in it as its own.
quoted=${USER}:${PASSWORD}
quoted=${quoted//\\/\\\\}
out=$(curl -sS --location-trusted -K - -T "$4" -H "column_separator:," -H "format:csv" "$1/api/$2/$3/_stream_load" <<<"user = \"${quoted//\"/\\\"}\"")
echo "$out"
grep -Eq '"Status": "(Success|Publish Timeout)"' <<<"$out" || { echo "not loaded" >&2; exit 1; }
