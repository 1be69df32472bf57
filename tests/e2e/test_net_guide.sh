# SPDX-License-Identifier: BSD-3-Clause
# The commands of docs/writing-a-net-plugin.md about its two examples, as the page has them.
. "$(dirname "$0")/common.sh"
# A stream transport is small with the helpers of the SDK.
lines=$(wc -l <"$source_dir/examples/net-tcp/net_tcp.c")
[ "$lines" -le 150 ] || die "the stream transport has $lines lines"
[ -z "${E2E_SANITIZE:-}" ] || skip "plugins of a user are not built with a sanitizer"

awk '/^```sh$/ { inside = 1; text = ""; next }
     /^```$/ { if (inside && text ~ /examples\//) printf "%s", text; inside = 0; next }
     inside { text = text $0 "\n" }' "$source_dir/docs/writing-a-net-plugin.md" |
    sed -e "s|/tmp/|$work/|g" -e "s|build/release|$build|" >"$work/commands"
[ "$(grep -c weft-conformance-net "$work/commands")" -eq 2 ] || die "the guide has other commands"
cd "$source_dir" || exit 1
timeout -k 5 300 bash -e "$work/commands" >"$work/out" 2>"$work/err" || die "the commands of the guide"
says out 'Out of bounds values : 0 OK'
[ "$(grep -c '0 failed$' "$work/out")" -eq 2 ] || die "the kit did not run twice"
