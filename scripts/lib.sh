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

# fetch_disassemblers: cuobjdump and nvdisasm for gpu/compiler, of PyPI (6 MiB, into build/cuda-tools), where
# nvcc is and they are not. Without them the test is skipped, and says so.
fetch_disassemblers() {
    local folder=$root/build/cuda-tools nvcc
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin:/opt/cuda/bin command -v nvcc) || return 0
    (
        PATH=$PATH:$(dirname "$nvcc"):$folder/nvidia/cu13/bin
        command -v cuobjdump && command -v nvdisasm
    ) >/dev/null && return 0
    mkdir -p "$root/build"
    say "fetching cuobjdump and nvdisasm …"
    python3 -m pip install -q --no-deps --target "$folder" 'nvidia-cuda-cuobjdump>=13,<14' \
        'nvidia-cuda-nvdisasm>=13,<14' >"$root/build/cuda-tools.log" 2>&1 ||
        say "they cannot be had, see build/cuda-tools.log: gpu/compiler will be skipped"
}

# build PRESET [TARGET…]: configures and builds into build/PRESET, all or those targets; the log is
# shown only if it fails. Whoever builds there meanwhile waits. Where `strict` is set, warnings are errors.
build() {
    local preset=$1 log="$root/build/$1.log" lock
    shift
    mkdir -p "$root/build"
    exec {lock}>"$root/build/$preset.lock"
    flock -n "$lock" || {
        say "waiting for another build of $preset …"
        flock "$lock"
    }
    say "building $preset …"
    if ! (cd "$root" && cmake --preset "$preset" ${strict:+-DWEFT_WERROR=ON} &&
        cmake --build --preset "$preset" -j "$jobs" ${1:+--target "$@"}) >"$log" 2>&1; then
        tail -n 60 "$log" >&2
        fail "the build of $preset failed; the whole log is $log"
    fi
    exec {lock}>&-
}
