#!/usr/bin/env bash
# Prints what changes in the public API since a commit, the last one unless named,
# and fails on what breaks importers, unless a commit since says so in a line that
# begins with "API:". It needs no network.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
if [ -n "$(git status --porcelain -- '*.go')" ]; then base=${1:-HEAD}; else base=${1:-HEAD~1}; fi
git rev-parse -q --verify "$base^{commit}" >/dev/null || { echo "there is no commit $base to compare with"; exit 0; }

dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/base" 2>/dev/null || true; rm -rf "$dir"' EXIT
git worktree add -q --detach "$dir/base" "$base"
go build -modfile=tools/go.mod -o "$dir/apidiff" golang.org/x/exp/cmd/apidiff
public() { go list ./... | grep -Ev '/(internal|cmd|examples)(/|$)'; }
export GOFLAGS="${GOFLAGS:-} -mod=readonly"
broken=""
while read -r package; do
	(cd "$dir/base" && "$dir/apidiff" -w "$dir/old" "$package" 2>/dev/null) || { echo "$package: new"; continue; }
	diff=$("$dir/apidiff" "$dir/old" "$package" 2>/dev/null) || { echo "$package: gone"; broken=yes; continue; }
	[ -z "$diff" ] || printf '%s\n%s\n' "$package" "$diff"
	case $diff in *Incompatible*) broken=yes ;; esac
done < <( (public; cd "$dir/base"; public) | sort -u)
[ -z "$broken" ] && exit 0
if git log --format=%B "$base"..HEAD | grep -q '^API:'; then
	echo "the commits since $base say that they change the API"
	exit 0
fi
echo "the public API changes: if that is meant, say so in the commit's message, in a line that begins with API:"
exit 1
