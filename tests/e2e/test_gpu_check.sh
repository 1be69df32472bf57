# SPDX-License-Identifier: BSD-3-Clause
# scripts/gpu-check, all of it, over the CUDA runtime of threads: nvidia-smi and NCCL are fakes, the programs
# and the sweep are those that run on a GPU. The tools of NVIDIA are stood in for by scripts which show
# that they are called right and that what they say is kept, and nothing else: compute-sanitizer, ncu,
# cuda-gdb, nvidia-cuda-mps-control.
. "$(dirname "$0")/common.sh"

[ -e "$build/lib/weft-test/kernel-cuda-fake.so" ] || skip "no CUDA headers, see tests/cuda"
[ -z "${E2E_SANITIZE:-}" ] || skip "the same in every preset"

mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'END'
#!/bin/sh
case $* in
-L) echo "GPU 0: not at all" ;;
*=name*) echo 'a "GPU"' ;;
*) echo "${FAKE_DRIVER:-580}" ;;
esac
END
cat >"$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
shift 4
[ ! -e "$GPU_CHECK_RESULTS" ] || touch "$GPU_CHECK_RESULTS.early"
[ -z "${FAKE_FAILS:-}" ] || exit 9
[ -z "${FAKE_HANGS:-}" ] || exec sleep 301.7
exec "$@"
END
cat >"$work/bin/ncu" <<'END'
#!/bin/sh
[ "$1 $2 $7 $8" = "--set full --launch-count 2" ] || exit 3
[ -z "${FAKE_FAILS:-}" ] || { echo "==ERROR== ERR_NVGPUCTRPERM"; exit 1; }
shift 8
"$@" || exit
printf '    ------------- -------- -----\n    Duration            us        5.12\n    L2 Hit Rate          %%       61.5\n'
END
cat >"$work/bin/cuda-gdb" <<'END'
#!/bin/sh
kill -0 "$2" && echo "attached to $(cat "/proc/$2/comm"): $*"
END
cat >"$work/bin/nvidia-cuda-mps-control" <<'END'
#!/bin/sh
case $* in
-d) [ -z "${FAKE_FAILS:-}" ] && echo $$ >"$CUDA_MPS_PIPE_DIRECTORY/control" ;;
*) read -r word && [ "$word" = quit ] && mv "$CUDA_MPS_PIPE_DIRECTORY/control" "$CUDA_MPS_LOG_DIRECTORY/ended" ;;
esac
END
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13"\n' >"$work/bin/nvcc"
# A bare machine has neither.
printf '#!/bin/sh\nexit 127\n' | tee "$work/bin/pgrep" >"$work/bin/pkill"
chmod +x "$work/bin"/*
export PATH=$work/bin:$PATH CUDA_PATH='' CUDA_HOME=''
# As an H200 is.
export FAKE_CUDA=bus
export GPU_CHECK_RESULTS=$work/all.tar.gz GPU_CHECK_ON_HOST=$build GPU_CHECK_OUT=$work/gpu GPU_CHECK_NCCL=$build/lib/weft-test/fake-nccl.so

# report FILTER: jq over the JSON must print true.
report() {
    [ "$(jq "$1" "$work/gpu/report.json")" = true ] || die "not so in report.json: $1"
}

# All of it from a folder that was packed and moved, with no tree beside it.
expect 0 "$source_dir/scripts/gpu-check" pack "$work/packed"
says out "^$work/packed: [0-9]+ MiB"
# RHEL 9 has 2.34. The headers of glibc 2.38 name functions of it where older ones do not.
version=$(getconf GNU_LIBC_VERSION)
[ "${version#glibc 2.}" -ge 38 ] || says out ', runs with glibc 2\.(3[0-4]|[12][0-9]) or newer; '
expect 1 "$source_dir/scripts/gpu-check" pack "$work/packed"
says err 'is there already'
mv "$work/packed" "$work/moved"
chmod -R go+w "$work/moved"
[ "$(du -sm "$work/moved" | cut -f 1)" -lt 60 ] || die "the packed folder is too large to carry"
export GPU_CHECK_ON_HOST=$work/moved/tree
check=$work/moved/scripts/gpu-check

expect 0 "$check" probe bits pair calls
expect 0 "$check" scan nccl ncu mps
rm "$GPU_CHECK_RESULTS"
expect 0 "$check" sanitize
[ -e "$GPU_CHECK_RESULTS.early" ] || die "no results were kept before the phase ended"
expect 0 "$check" sweep
expect 0 "$check" speed
tar -tzf "$GPU_CHECK_RESULTS" >"$work/kept"
grep -qx lines/speed "$work/kept" || die "the results of the last phase were not kept"
says out '^a "GPU", driver 580, nvcc 1'
says out '^probe +questions to the driver +ok +[0-9]+ answers'
says out '^probe +there and back between processor and device +ok +[0-9.e+]+ ns'
grep -qE '^edge = kernel-cuda same latency=[0-9]+ns overhead=[0-9]+ns bandwidth=[0-9.e+-]+GB/s wire=[0-9.e+-]+GB/s$' \
    "$work/gpu/logs/figures.ini" || die "no figures of an edge in $work/gpu/logs/figures.ini"
grep -qE '^kernel = kernel-cuda launch=[0-9]+ns copy=' "$work/gpu/logs/figures.ini" || die "no figure of a launch"
for protocol in '' ' ll' ' ll128' ' whole'; do
    says out "^edge = kernel-cuda same$protocol latency=[0-9]+ns overhead=[0-9]+ns bandwidth=[0-9.e+-]+GB/s"
done
says out '^kernel = kernel-cuda launch=[0-9]+ns copy=[0-9.e+-]+GB/s$'
WEFT_CONF=$work/gpu/logs/figures.ini "$weft" config >/dev/null ||
    die "$work/gpu/logs/figures.ini cannot be read"
says out '^pair +sweep of 2 ranks as threads +ok'
says out '^pair +all-reduce, 2 ranks, replayed from a graph, 8 bytes +ok'
says out '^calls +the same from the graphs of two communicators at once +ok +3 rounds'
says out '^calls +calls that the host drives, 2 ranks +ok'
says out '^scan +best of the scan, 64 bytes, (default|windows|windows,kernel-cuda.whole=no|kernel-cuda.threads=128|kernel-cuda.protocol=ll) +ok +[0-9.]+ us +[0-9.]+ of default'
says out '^ncu +cuda_grid: L2 Hit Rate +ok +61.5 %'
says out '^mps +there and back between kernels of two processes +ok'
says out '^mps +sweep of 2 ranks as processes +ok'
[ -s "$work/gpu/logs/ended" ] || die "the daemon of MPS was not ended, or its log folder was another"
says out '^bits +arithmetic against kernel-cpu +ok +[0-9]+ cases right'
says out '^sweep +sweep of 1 to 2 ranks as threads +ok +2 sweeps right'
says out '^sweep +sweep of 1 to 2 ranks as processes +ok +2 sweeps right'
says out '^sweep +sweep of 2 ranks as threads, memory of the host +ok'
says out '^sweep +sweep of 2 ranks as threads, buffers in windows +ok'
says out '^sweep +sweep of 2 ranks as processes, buffers in windows +ok'
says out '^sanitize +racecheck, sweep of 2 ranks +ok'
says out '^speed +all-reduce, 2 ranks, 8 bytes +(ok|slow) +[0-9.]+ us +[0-9.]+ of a launch, goal 2'
says out '^speed +algo-flat, 2 ranks: .* binds? +ok +[0-9.e-]+ GB read and written +[0-9.]+ of copy'
says out '^speed +launches of a call, 2 ranks +ok +1 a rank'
says out '^nccl +all-reduce, 2 ranks, 8 bytes +(ok|slow) +[0-9.]+ us +[0-9.]+ of NCCL'
says out '^all right'
report '.gpu == "a \"GPU\"" and .driver == "580" and (.date | length) == 20'
# No part of the driver is there to be asked.
report '[.lines[] | select(.verdict != "ok" and .verdict != "slow" and (.what | contains("not exported") | not))
    | .verdict + ", " + .unit] | unique == ["left out, no libcuda.so.1"]'
report '[.lines[] | select(.phase == "speed" and .of == "copy limit") | .ratio | numbers] | length > 0'
report '[.lines[] | select(.phase == "speed" and (.what | endswith(", windows")))] | length > 0'
# Two ranks and the flat exchange: each reads or writes 2 operands to send, 3 to add.
report '[.lines[] | select(.what | startswith("algo-flat")) | .figure] == [10 * 64 / 1e9]'

# Every question has an answer: what is given back waits for a kernel, which the runtime of threads does, what
# the plugin does beside running plans does not, and streams share hardware queues.
probe_says() {
    report "[.lines[] | select(.phase == \"probe\" and .what == \"$1\") | $2]"' == [true]'
}
report '[.lines[] | select(.what | startswith("beside a kernel that waits: "))] | length == 21'
probe_says 'beside a kernel that waits: cudaFree' '.unit == "us, waits for it"'
probe_says 'beside a kernel that waits: cudaMalloc of 2 MiB' '.unit == "us"'
for made in 'used before' 'made before' 'made beside'; do
    probe_says "of 40 streams $made a full one, 1 connections" '.figure == 40'
    probe_says "of 40 streams $made a full one, 8 connections, highest priority" '.figure == 0'
    probe_says "of 24 streams $made a full one, 32 connections" '.figure == 0'
done
for refused in cudaStreamGetDevice cudaStreamGetId cudaStreamQuery; do
    probe_says "in a capture: $refused" '.figure == 900 and (.unit | endswith(", the capture is lost"))'
done
probe_says 'in a capture: a launch' '.unit == "cudaSuccess"'
probe_says 'in a capture: a launch into a stream of another device' '.figure == 400'
probe_says 'memory of another process by its handle' '.unit == "cudaSuccess"'
probe_says 'a pointer of a pool that was not exported' '.verdict == "left out"'
probe_says 'memory of a pool of another process' '.unit == "cudaSuccess"'
probe_says 'the first pointer once more' '.unit == "the same address"'
probe_says 'beside a kernel that waits, a free of an import' '.unit == "us" and .figure < 500000'
report '[.lines[] | select(.what | startswith("slices of "))] | length == 72'

# What does not end: what stood on the device is kept, and it is ended with all that it has started.
export FAKE_HANGS=1
GPU_CHECK_SECONDS=6 expect 1 "$check" sanitize
says out '^sanitize +memcheck, arithmetic +no end in 6 s'
grep -q 'attached to sleep: -p [0-9]* -batch -ex info cuda kernels -ex info cuda blocks' \
    "$work/gpu/logs/sanitize-memcheck-kernel.where" || die "cuda-gdb was not asked"
! command -p pgrep -f '^sleep 301.7$' >/dev/null || die "a program was left behind"
# One that SIGKILL does not end, as the kernel keeps it, does not keep the script: to its `cat` all processes are in
# state D, and of no session that it could end.
mkdir "$work/stuck"
cat >"$work/stuck/cat" <<'END'
#!/bin/sh
case $1 in
/proc/[0-9]*/stat) /bin/cat "$1" | sed 's/) [A-Z] \([0-9]*\) \([0-9]*\) [0-9]* /) D \1 \2 0 /' ;;
*) exec /bin/cat "$@" ;;
esac
END
chmod +x "$work/stuck/cat"
PATH=$work/stuck:$PATH GPU_CHECK_SECONDS=6 expect 1 "$check" sanitize
says out '^process [0-9]+ is still there 20 s after SIGKILL'
says out '^sanitize +memcheck, arithmetic +no end in 6 s'
kill -KILL "$(sed -n 's/^process \([0-9]*\) is still.*/\1/p' "$work/out")"
# With a limit for all phases the first gets half of it. A busy machine needs the other half.
seconds=120 GPU_CHECK_ALL_SECONDS=60 expect 1 "$check" sanitize ncu
unset FAKE_HANGS
says out '^sanitize +memcheck, arithmetic +no end in (2[0-9]|30) s'
says out '^ncu +cuda_grid under ncu +ok'
rm "$work/gpu/lines/sanitize"
# NCCL that has no end from 64 bytes on: smaller sizes count, and the check goes on.
FAKE_NCCL_HANGS=16 expect 0 "$check" nccl
says out '^nccl +NCCL, 2 ranks, 64 bytes: no end in 8 s +left out'
says out '^nccl +all-reduce, 2 ranks, 8 bytes +(ok|slow) +[0-9.]+ us +[0-9.]+ of NCCL'
report '[.lines[] | select(.phase == "nccl" and (.what | startswith("all-reduce")))] | length == 1'
# A driver that is too old for the runtime is told once; a package for compatibility may help.
FAKE_DRIVER=570.86.10 expect 0 "$check" bits
FAKE_DRIVER=570.86.10 FAKE_CUDA=old_driver expect 1 "$check" bits pair
says out '^bits +driver 570.86.10 is too old: CUDA 13 needs 580 or newer, nothing was run +FAILED'
says out '^1 FAILED'
! grep -q '^pair …' "$work/out" || die "a phase was run without a driver"
rm "$work/gpu/lines/bits"
# A folder of another kind of machine.
mv "$work/moved/tree/bin/weft" "$work/weft"
printf 'nonsense' >"$work/moved/tree/bin/weft"
chmod +x "$work/moved/tree/bin/weft"
expect 1 "$check" probe
says err 'do not start here'
mv "$work/weft" "$work/moved/tree/bin/weft"

# What fails is in the table, which comes all the same.
export FAKE_NCCL_REFUSES=1 FAKE_FAILS=1
expect 0 "$check" nccl
says out '^nccl +NCCL 22807 does not run 2 ranks on a GPU: invalid usage; needs NCCL 2.30 or newer, GPU_CHECK_NCCL names another libnccl.so.2 +left out'
says out '^sweep +sweep of 1 to 2 ranks as threads +ok'
expect 1 "$check" sanitize
says out '^sanitize +memcheck, arithmetic +FAILED'
says out '^6 FAILED'
report '[.lines[] | select(.phase == "sanitize") | .verdict] | unique == ["FAILED"]'
rm "$work/gpu/lines/sanitize"
expect 0 "$check" ncu
says out '^ncu +ncu, no permission for the counters of the device +left out'
expect 1 "$check" mps
says out '^mps +MPS +FAILED'
rm "$work/bin/ncu" "$work/bin/nvidia-cuda-mps-control"
expect 0 "$check" ncu mps
says out '^mps +nvidia-cuda-mps-control, not installed +left out'
# A hardware queue that holds four launches, one of them in the full stream: the fourth other stream has to wait.
FAKE_CUDA=depth=4 CUDA_DEVICE_MAX_CONNECTIONS=1 expect 0 "$build/bin/gpu-probe-host" queues-beside 40
says out '^made beside a full one, 1 connections: stuck in the launch into stream 4 of 80.STUCK.3.launches before it'
says out '^of 3 streams made beside a full one, 1 connections.ok.3.kept back'
# A device on which more calls wait.
FAKE_CUDA=waits=all expect 0 "$check" probe
probe_says 'beside a kernel that waits: cudaMalloc of 2 MiB' '.unit == "us, waits for it"'
# A mistake in the phase costs nothing.
expect 1 "$check" banana
says err '^usage: '
