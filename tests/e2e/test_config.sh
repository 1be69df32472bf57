# SPDX-License-Identifier: BSD-3-Clause
# `weft config` tells where values come from, and what it prints as INI it reads back.
. "$(dirname "$0")/common.sh"

printf '[exec]\nop_timeout = 7s\n' >"$work/mine.ini"
expect 0 "$weft" config --conf "$work/mine.ini" --set core.log=error
says out '^op_timeout +=.*mine\.ini:2$'
says out '^log +=.*--set'
[ -z "$(grep '^\[' "$work/out" | sort | uniq -d)" ] || die "a section is shown twice"
expect 0 "$weft" config --conf "$work/mine.ini" --ini
cp "$work/out" "$work/full.ini"
expect 0 "$weft" config --conf "$work/full.ini"
says out '^op_timeout +=.*full\.ini:[0-9]+$'
expect 0 "$weft" config --conf "$source_dir/conf/weft.ini"
