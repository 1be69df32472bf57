# SPDX-License-Identifier: BSD-3-Clause
# `weft new`: folders that build against an installed weft, pass the kit and run, as their READMEs say.
. "$(dirname "$0")/common.sh"
[ -z "${E2E_SANITIZE:-}" ] || skip "plugins of a user are not built with a sanitizer"

expect 0 cmake --install "$build" --prefix "$work/weft"
export PATH=$work/weft/bin:$PATH CFLAGS="-Wall -Wextra -Wconversion -Werror"
weft=$work/weft/bin/weft

# readme NAME: the commands of a README, run where it says.
readme() {
    sed -n '/^```sh$/,/^```$/p' "$1/README.md" | grep -v '^```' >"$work/commands"
    [ "$(wc -l <"$work/commands")" -ge 6 ] || die "$1/README.md has too few commands"
    (cd "$1" && timeout -k 5 300 bash -e "$work/commands" >"$work/out" 2>"$work/err") ||
        die "the commands of $1/README.md"
}

cd "$work" || exit 1
for kind in net algo kernel tuner; do
    expect 0 "$weft" new $kind own-made
    says out "^$kind-own-made/: CMakeLists.txt, README.md, ${kind}_own_made.c$"
    ! grep -rqE '@[A-Z]+@|(tcp|doubling|plain|least)_[a-z]+\(' $kind-own-made ||
        die "$kind-own-made has words of the template"
    readme $kind-own-made
    says out '100% tests passed'
    says out 'Out of bounds values : 0 OK'
done

# The kind may be part of the name. Nothing is overwritten.
expect 0 "$weft" new algo algo-other
[ -f algo-other/algo_other.c ] || die "no algo-other/algo_other.c"
expect 6 "$weft" new algo other
says err "cannot make the folder algo-other: File exists. Nothing was written"
expect 6 "$weft" new kernl mine
says err "no kind of plugin is called 'kernl', did you mean kernel\?"
expect 6 "$weft" new net Mine
says err "'Mine' is no name of a plugin"
expect 6 "$weft" new net "$(printf 'a%.0s' {1..25})"
says err 'at most 24'
expect 6 "$weft" new net
says err 'weft new needs a kind and a name'
expect 6 "$weft" new net one two
says err "got 'two' too"
[ ! -e net-Mine ] && [ ! -e net-one ] || die "a refused name left a folder"
