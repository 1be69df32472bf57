# SPDX-License-Identifier: BSD-3-Clause
# An environment whose making was interrupted is made anew; one that is complete is used as it is. And what
# was left out of tests is said. Python, git, make, CMake and CTest are made up.
. "$(dirname "$0")/../e2e/common.sh"
tree=$work/tree
mkdir -p "$tree/scripts" "$tree/build" "$work/path"
cp "$source_dir"/scripts/{lib.sh,packages.txt,test-launchers,test-torch,test-nccl,test-nccl-net,test-wheel} "$tree/scripts/"

# made_up NAME: a program of the path, from the standard input.
made_up() {
    { echo '#!/bin/bash' && cat; } >"$work/path/$1"
    chmod +x "$work/path/$1"
}
export MADE=$work/made CONFIGURED=$work/configured KILLED=
# It counts what it makes. KILLED is a part of pip's arguments: then the script is killed, half-way.
made_up pip <<'EOF'
bin=$(dirname "$0")
: >"$bin/mpiexec"
chmod +x "$bin/mpiexec"
case " $* " in *" ${KILLED:-none} "*) : >"$bin/half" && kill -9 $PPID && exit 1 ;; esac
EOF
made_up python3 <<'EOF'
case "$1 $2" in
"-m venv") ;;
"-m pip")
    [ ! -e "$7/half" ] && mkdir -p "$7" && [ -z "$KILLED" ] && exit 0
    : >"$7/half" && kill -9 $PPID && exit 1
    ;;
*) exit 0 ;;
esac
folder=${!#}
[ "$3" != --clear ] || rm -rf "$folder"
mkdir -p "$folder/bin"
echo "$folder" >>"$MADE"
: >"$folder/pyvenv.cfg"
cp "$(dirname "$0")/pip" "$folder/bin/"
ln -sf /bin/true "$folder/bin/python"
EOF
made_up cmake <<<'echo "$*" >>"$CONFIGURED"'
made_up dpkg-query <<<'echo install ok installed'
# What the tests would have been given, and one that was left out.
made_up ctest <<'EOF'
cat >"${!#}" <<END
<testcase name="given" classname="given" time="1" status="run">
<system-out>torch: ${TRY_NCCL_TORCH:-none}
</system-out>
</testcase>
<testcase name="other" classname="other" time="0" status="notrun">
<skipped message="SKIP_RETURN_CODE=77"/>
<system-out>skipped: LEFT OUT: it isn&apos;t there
</system-out>
</testcase>
END
EOF
# A clone that is killed leaves what it has.
made_up git <<'EOF'
folder=${!#}
mkdir -p "$folder/.git"
[ -z "$KILLED" ] || { kill -9 $PPID && exit 1; }
mkdir -p "$folder/plugins/net/example/nccl"
echo 'int plugin;' >"$folder/plugins/net/example/plugin.c"
EOF
export PATH=$work/path:$PATH

# again CODE SCRIPT FOLDER WORD ARGUMENTS…: killed while pip installs WORD, then run to its end, then once more.
again() {
    local code=$1 script=$tree/scripts/$2 folder=$3 word=$4 times
    shift 4
    KILLED=$word expect 137 bash "$script" "$@"
    [ -e "$folder/bin/half" ] || die "$script: nothing was half made in $folder"
    expect "$code" bash "$script" "$@"
    [ -e "$folder/complete" ] || die "$script: $folder has no mark"
    [ ! -e "$folder/bin/half" ] || die "$script: $folder was not made anew"
    times=$(wc -l <"$MADE")
    KILLED=$word expect "$code" bash "$script" "$@"
    [ "$(wc -l <"$MADE")" -eq "$times" ] || die "$script: a complete environment was made again"
}
again 0 test-launchers "$work/mpi/mpich" mpich --environments "$work/mpi" --only-make
again 0 test-torch "$work/torch-2.15" numpy --environments "$work/torch" --only-make
again 0 test-nccl "$tree/build/nccl-venv" nccl4py
says out "^left out: other: LEFT OUT: it isn't there$"
says out '^1 passed, 0 failed, 1 left out$'
# Its tools; there is no wheel here.
again 1 test-wheel "$tree/build/wheel/tools" auditwheel
says err '^auditwheel: '

# They are configured where whoever builds there is waited for.
exec {lock}>"$tree/build/release.lock"
flock "$lock"
rm -f "$CONFIGURED"
bash "$tree/scripts/test-torch" --environments "$work/torch" >"$work/waits" {lock}>&- &
for ((tries = 0; tries < 1200; tries++)); do
    ! grep -q '^waiting for another build of release' "$work/waits" || break
    sleep 0.1
done
[ ! -e "$CONFIGURED" ] || die "configured while another builds there"
exec {lock}>&-
wait $! || die "test-torch: exit code $?"
grep -q -e "-DWEFT_TORCH_ENVIRONMENTS=$work/torch-2.15;$work/torch-2.13" "$CONFIGURED" || die "configured without torch"
expect 0 bash "$tree/scripts/test-launchers" --environments "$work/mpi"
grep -q -e "-DWEFT_MPI_ENVIRONMENTS=$work/mpi/openmpi;" "$CONFIGURED" || die "configured without other MPIs"

# A folder that no script has made stays as it is.
mkdir -p "$work/own/openmpi/bin"
expect 1 bash "$tree/scripts/test-launchers" --environments "$work/own" --only-make
says err 'openmpi is no environment of Python'
[ -d "$work/own/openmpi/bin" ] || die "somebody's folder was deleted"

# test-nccl takes the torch of scripts/test-torch once that has been made.
results=$tree/build/nccl-results.xml
KILLED=numpy expect 137 bash "$tree/scripts/test-torch" --only-make
expect 0 bash "$tree/scripts/test-nccl"
grep -q 'torch: none$' "$results" || die "test-nccl took an environment that is half made"
expect 0 bash "$tree/scripts/test-torch" --only-make
expect 0 bash "$tree/scripts/test-nccl"
grep -q 'torch: .*/torch-venv-2.15/bin/python$' "$results" || die "test-nccl took no torch"
expect 1 bash "$tree/scripts/test-nccl" --torch "$work/nowhere"
says err "$work/nowhere: no Python"

# The disassemblers, where there is an nvcc and the system has none.
made_up nvcc </dev/null
if ! command -v cuobjdump >/dev/null; then
    KILLED=yes expect 137 bash -c ". '$tree/scripts/lib.sh' && fetch_disassemblers && :"
    expect 0 bash -c ". '$tree/scripts/lib.sh' && fetch_disassemblers && :"
    says out '^fetching '
    expect 0 bash -c ". '$tree/scripts/lib.sh' && fetch_disassemblers && :"
    [ ! -s "$work/out" ] || die "the disassemblers were fetched twice"
fi

# A clone that was interrupted is made anew.
KILLED=yes expect 137 bash "$tree/scripts/test-nccl-net"
expect 1 bash "$tree/scripts/test-nccl-net"
says out '^failed: NCCL.s example plugin$'
exit 0
