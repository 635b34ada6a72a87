#!/bin/sh
# Searches for a title and downloads the first hit: download.sh blade runner 2049
set -eu

# Answers of 429 come with Retry-After, which --retry obeys.
get() {
  curl --silent --show-error --fail-with-body --retry 3 \
    --header "Authorization: Bearer $SUBCAT_KEY" "$@"
}

hits=$(get --get --data-urlencode "query=$*" --data limit=1 "$SUBCAT_URL/api/subtitles/search")
id=$(printf '%s' "$hits" | jq --raw-output '.items[0].id // empty')
if [ -z "$id" ]; then
  echo "nothing found" >&2
  exit 1
fi
# --remote-header-name takes the name from Content-Disposition.
get --remote-name --remote-header-name --write-out '%{filename_effective}\n' \
  "$SUBCAT_URL/api/subtitles/$id/download"
