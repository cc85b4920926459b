#!/bin/bash
# Posts the comment in the file COMMENT on the pull request NUMBER of GITHUB_REPOSITORY, or replaces the comment of this
# workflow whose first line is the same. gh uses the token in GH_TOKEN. The job does not fail if this is impossible.
set -euo pipefail

if ! command -v gh > /dev/null; then
  echo "::warning title=asct::No comment was posted, because gh is not installed on this runner"
  exit 0
fi
marker=$(head -n 1 "$COMMENT")
comments=repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments
own='.[] | select(.user.login == "github-actions[bot]") | "\(.id) \(.body | split("\n")[0] | rtrimstr("\r"))"'
post() {
  local listed id line
  listed=$(gh api --paginate "$comments?per_page=100" --jq "$own") || return 1
  while read -r id line; do
    if [ "$line" = "$marker" ]; then
      gh api --method PATCH --silent "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$COMMENT"
      return
    fi
  done <<< "$listed"
  gh api --method POST --silent "$comments" --field "body=@$COMMENT"
}
if ! post; then
  echo "::notice title=asct::No comment was posted: the token may not write to this pull request, for example because it" \
    "comes from a fork. The job summary contains the results."
fi
