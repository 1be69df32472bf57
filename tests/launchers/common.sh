# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of launchers, on top of those of e2e.
. "$E2E_SOURCE/tests/e2e/common.sh"
unset XDG_RUNTIME_DIR
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
perf=(perf all_reduce -c 1 -b 8 -e 64K -f 64 -n 3)
with_mpi=${E2E_WITH_MPI:?run by ctest}

# Runs a command where /tmp is empty and cannot be written: no folder carries an id there. What the
# launcher itself writes goes to a folder that the ranks are not told to use.
without_tmp() {
    local own
    own=$(mktemp -d "$build/launcher.XXXXXX")
    TMPDIR=$own unshare --mount bash -c '
        mount -t tmpfs -o ro,mode=1777 none /tmp && exec "$@"' without_tmp "$@"
    local code=$?
    rm -rf "$own"
    return $code
}
export -f without_tmp
export build
may_unshare() { unshare --mount true 2>/dev/null; }

# measures WAY COMMAND…: four ranks of weft perf under a launcher are right, by that way.
measures() {
    local way=$1
    shift
    expect 0 bash -c 'without_tmp "$@"' x "$@" "$weft" "${perf[@]}"
    all_right 3
    says out '^#  Rank  3 '
    says out "^# Launcher: .* unique id by $way "
    grep '^# Launcher' "$work/out"
}

# in_one_process PROGRAM RANKS STEPS COMMAND…: each step of with_mpi.c is right on all ranks.
in_one_process() {
    local program=$1 ranks=$2 steps=$3 found wanted
    shift 3
    [ -x "$program" ] || {
        echo "left out: MPI and weft in one process, no $(basename "$program")"
        return 0
    }
    expect 0 "$@" "$program" "$steps"
    found=$(grep -cE '^(weft|MPI): rank .* right$|^refused: ' "$work/out")
    wanted=$(($(tr -cd wWm <<<"$steps" | wc -c) * ranks))
    [ "$found" -eq "$wanted" ] || die "$found good steps of $wanted in $steps"
}

# run_documented TAG: runs the commands of the guides that are marked for it, as they stand there. Sizes are
# those that perf takes unasked, up to 32 MiB, whose checks a sanitizer spends half a minute on: it has seen
# the launcher's ways and the tool by now.
run_documented() {
    [ -z "${E2E_SANITIZE:-}" ] || return 0
    local blocks=$work/documented.sh
    mkdir -p "$work/bin"
    # Hydra looks for its helpers beside the name by which it was called, so no links.
    printf '#!/bin/sh\nexec %s "$@"\n' "${E2E_MPIEXEC:-mpirun.openmpi}" >"$work/bin/mpirun"
    printf '#!/bin/sh\nexec %s "$@"\n' "${E2E_MPIEXEC:-mpirun.mpich}" >"$work/bin/mpiexec"
    chmod +x "$work"/bin/*
    documented "$1" >"$blocks"
    [ -s "$blocks" ] || skip "no commands of the guides for $1, or no python3 to find them; the rest is right"
    seconds=150
    expect 0 env OMPI_MCA_rmaps_base_oversubscribe=1 \
        PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PATH="$work/bin:$(dirname "$weft"):$PATH" bash -e "$blocks"
    says out '^# Out of bounds values : 0 OK$'
    [ "$(grep -c '^# Out of bounds values : 0 OK$' "$work/out")" -eq \
        "$(grep -c 'perf all_reduce' "$blocks")" ] || die "not all documented commands are right"
}

# pods_up COUNT: hosts that are namespaces, pod-0 and so on, which know each other by these names. Each
# has a network and an empty /tmp of its own. on_pod runs a command in one; what all see is in $pod_files.
pods_up() {
    local i
    . "$source_dir/tests/scale/hosts.sh"
    pods=$1 prefix=wl$$p
    pod_files=$(mktemp -d "$build/pods.XXXXXX")
    export prefix pod_files
    trap 'hosts_down $prefix $pods; rm -rf "$work" "$pod_files"' EXIT
    command -v ip >/dev/null || skip "no ip (Debian: iproute2)"
    may_unshare || skip "may not make mount namespaces"
    hosts_up "$prefix" "$pods" 2>"$work/err" ||
        skip "no network namespaces here: $(tail -n 1 "$work/err")"
    echo '127.0.0.1 localhost' >"$pod_files/hosts"
    for ((i = 0; i < pods; i++)); do
        echo "10.251.0.$((i + 1)) pod-$i" >>"$pod_files/hosts"
    done
}
# on_pod NUMBER COMMAND…
on_pod() {
    ip netns exec "$prefix$1" unshare --mount --uts bash -c '
        mount --bind "$2" /etc/hosts && hostname "pod-$1" && mount -t tmpfs none /tmp || exit 70
        export HOME=/tmp && shift 2 && exec "$@"' on_pod "$1" "$pod_files/hosts" "${@:2}"
}
export -f on_pod
# on_each_pod FUNCTION: runs FUNCTION NUMBER for every pod at once; what they print is in $work/out.
on_each_pod() {
    local i jobs=()
    for ((i = pods - 1; i >= 0; i--)); do
        "$1" "$i" >"$work/out.$i" 2>"$work/err.$i" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job" || die "a pod failed: $(cat "$work"/err.* "$work"/out.*)"; done
    cat "$work"/out.* >"$work/out"
}
