# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts: sourced, not run. Finds the tree, installs what is missing, builds.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

# --help of a script that sources this: the comment that it begins with.
case ${1:-} in
-h | --help)
    sed -n '3,${/^#/!q;/shellcheck/!s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
esac

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

# missing_packages LIST: names from a list that are not installed.
missing_packages() {
    local name
    grep -v '^#' "$1" | while read -r name; do
        dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$name"
    done
}

# install_packages [LIST]: installs what is missing of scripts/packages.txt or of the list, as root,
# else by sudo without a password, else says the one command to run.
install_packages() {
    local names as_root=() list=${1:-$root/scripts/packages.txt}
    command -v dpkg-query >/dev/null || {
        say "no Debian here: the packages of ${list#"$root/"} are taken as installed"
        return 0
    }
    names=$(missing_packages "$list")
    [ -n "$names" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null ||
            fail "packages are missing; please run: sudo apt-get update && sudo apt-get install -y ${names% }"
        as_root=(sudo -n)
    fi
    say "installing ${names% } …"
    "${as_root[@]}" apt-get update -qq >/dev/null || fail "apt-get update failed"
    # shellcheck disable=SC2086
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends $names >/dev/null ||
        fail "apt-get install failed for: ${names% }"
}

# environment FOLDER PYTHON FILL…: a virtual environment of that Python in FOLDER; the command FILL…, with the
# folder behind it, installs into it. One with the mark `complete` is used as it is. The mark is made last,
# so that one whose making was interrupted is made anew, by one script at a time.
environment() {
    local folder=$1 python=$2 lock
    shift 2
    [ ! -e "$folder/complete" ] || return 0
    mkdir -p "$(dirname "$folder")"
    # What neither Python nor this function has begun may be somebody's: nothing there is deleted.
    [ -e "$folder/pyvenv.cfg" ] || [ -e "$folder.lock" ] || [ -z "$(ls -A "$folder" 2>/dev/null)" ] ||
        fail "$folder is no environment of Python; to use it as it is: touch $folder/complete"
    exec {lock}>"$folder.lock"
    flock -n "$lock" || {
        say "waiting for another that makes $folder …"
        flock "$lock"
    }
    if [ ! -e "$folder/complete" ]; then
        say "making $folder …"
        "$python" -m venv --clear "$folder" || fail "$python -m venv failed; Debian has it in python3-venv"
        "$@" "$folder" || fail "$folder could not be filled; the next run makes it anew"
        touch "$folder/complete"
    fi
    exec {lock}>&-
}

# run_label LABEL RESULTS: the tests of build/release that have this label. What became of them is in RESULTS.
run_label() {
    rm -f "$2"
    (cd "$root" && ctest --preset release -L "$1" --output-junit "$2")
    [ -s "$2" ] || fail "ctest wrote no results"
}

# tell_results RESULTS: says which tests were left out and why, and counts. True if some passed and none failed.
tell_results() {
    local failed passed left_out
    awk -F'"' '
        /<testcase / { left_out = /status="notrun"/; name = $2; why = "" }
        left_out && /skipped:|SKIPPED:/ && why == "" { why = $0; sub(/.*(skipped|SKIPPED): */, "", why) }
        left_out && /<\/testcase>/ {
            gsub(/&apos;/, "\047", why)
            gsub(/&quot;/, "\"", why)
            print "left out: " name ": " (why == "" ? "it does not say why" : why)
        }' "$1"
    failed=$(grep -c 'status="fail"' "$1")
    passed=$(grep -c 'status="run"' "$1")
    left_out=$(grep -c 'status="notrun"' "$1")
    say "$passed passed, $failed failed, $left_out left out"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# fetch_disassemblers: cuobjdump and nvdisasm for gpu/compiler, of PyPI (6 MiB, into build/cuda-tools), where
# nvcc is and they are not. Without them the test is skipped, and says so.
fetch_disassemblers() {
    local folder=$root/build/cuda-tools nvcc
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin:/opt/cuda/bin command -v nvcc) || return 0
    [ ! -e "$folder/complete" ] || return 0
    (
        PATH=$PATH:$(dirname "$nvcc")
        command -v cuobjdump && command -v nvdisasm
    ) >/dev/null && return 0
    mkdir -p "$root/build"
    # pip leaves what it finds there as it is.
    rm -rf "$folder"
    say "fetching cuobjdump and nvdisasm …"
    python3 -m pip install -q --no-deps --target "$folder" 'nvidia-cuda-cuobjdump>=13,<14' \
        'nvidia-cuda-nvdisasm>=13,<14' >"$root/build/cuda-tools.log" 2>&1 && touch "$folder/complete" ||
        say "they cannot be had, see build/cuda-tools.log: gpu/compiler will be skipped"
}

# build PRESET [TARGET…]: configures and builds into build/PRESET, all or those targets; the log is
# shown only if it fails. Whoever builds there meanwhile waits. Where `strict` is set, warnings are errors, and the
# hundreds of test programs are linked by mold, if it is there; `options` are further ones of CMake.
options=()
build() {
    local preset=$1 log="$root/build/$1.log" lock arguments=("${options[@]}")
    shift
    if [ -n "${strict-}" ]; then
        arguments+=(-DWEFT_WERROR=ON)
        ! command -v mold >/dev/null || arguments+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold)
    fi
    mkdir -p "$root/build"
    exec {lock}>"$root/build/$preset.lock"
    flock -n "$lock" || {
        say "waiting for another build of $preset …"
        flock "$lock"
    }
    say "building $preset …"
    if ! (cd "$root" && cmake --preset "$preset" "${arguments[@]}" &&
        cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}) >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        fail "the build of $preset failed; the whole log is $log"
    fi
    exec {lock}>&-
}
