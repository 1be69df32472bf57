# SPDX-License-Identifier: BSD-3-Clause
# scripts/gpu-check, all of it, over the CUDA runtime of threads: nvidia-smi, compute-sanitizer and NCCL
# are fakes, the programs and the sweep are those that run on a GPU.
. "$(dirname "$0")/common.sh"

[ -e "$build/lib/weft-test/kernel-cuda-fake.so" ] || skip "no CUDA headers, see tests/cuda"
[ -z "${E2E_SANITIZE:-}" ] || skip "the same in every preset"

mkdir "$work/bin"
cat >"$work/bin/nvidia-smi" <<'END'
#!/bin/sh
case $* in
-L) echo "GPU 0: not at all" ;;
*=name*) echo 'a "GPU"' ;;
*) echo 580 ;;
esac
END
cat >"$work/bin/compute-sanitizer" <<'END'
#!/bin/sh
shift 4
[ -z "${FAKE_FAILS:-}" ] || exit 9
exec "$@"
END
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13"\n' >"$work/bin/nvcc"
chmod +x "$work/bin"/*
export PATH=$work/bin:$PATH CUDA_PATH='' CUDA_HOME=''
export GPU_CHECK_ON_HOST=$build GPU_CHECK_OUT=$work/gpu GPU_CHECK_NCCL=$build/lib/weft-test/fake-nccl.so

# report FILTER: jq over the JSON must print true.
report() {
    [ "$(jq "$1" "$work/gpu/report.json")" = true ] || die "not so in report.json: $1"
}

# All of it from a folder that was packed and moved, with no tree beside it.
expect 0 "$source_dir/scripts/gpu-check" pack "$work/packed"
says out "^$work/packed: [0-9]+ MiB"
expect 1 "$source_dir/scripts/gpu-check" pack "$work/packed"
says err 'is there already'
mv "$work/packed" "$work/moved"
[ "$(du -sm "$work/moved" | cut -f 1)" -lt 60 ] || die "the packed folder is too large to carry"
export GPU_CHECK_ON_HOST=$work/moved/tree
check=$work/moved/scripts/gpu-check

expect 0 "$check" bits sweep
expect 0 "$check" sanitize
expect 0 "$check" speed nccl
tar -tzf "$work/gpu/results.tar.gz" >"$work/kept"
grep -qx lines/nccl "$work/kept" || die "the results of the last phase were not kept"
says out '^a "GPU", driver 580, nvcc 1'
says out '^bits +arithmetic against kernel-cpu +ok +[0-9]+ cases right'
says out '^sweep +sweep of 1 to 2 ranks as threads +ok +2 sweeps right'
says out '^sweep +sweep of 1 to 2 ranks as processes +ok +2 sweeps right'
says out '^sweep +sweep of 2 ranks as threads, buffers in windows +ok'
says out '^sweep +sweep of 2 ranks as processes, buffers in windows +ok'
says out '^sanitize +racecheck, sweep of 2 ranks +ok'
says out '^speed +all-reduce, 2 ranks, 8 bytes +(ok|slow) +[0-9.]+ us +[0-9.]+ of a launch, goal 2'
says out '^speed +algo-flat, 2 ranks: .* binds? +ok +[0-9.e-]+ GB read and written +[0-9.]+ of copy'
says out '^speed +launches of a call, 2 ranks +ok +1 a rank'
says out '^nccl +all-reduce, 2 ranks, 8 bytes +(ok|slow) +[0-9.]+ us +[0-9.]+ of NCCL'
says out '^all right'
report '.gpu == "a \"GPU\"" and .driver == "580" and (.date | length) == 20'
report '[.lines[] | select(.verdict != "ok" and .verdict != "slow")] == []'
report '[.lines[] | select(.phase == "speed" and .of == "copy limit") | .ratio | numbers] | length > 0'
report '[.lines[] | select(.phase == "speed" and (.what | endswith(", windows")))] | length > 0'
# Two ranks and the flat exchange: each reads or writes 2 operands to send, 3 to add.
report '[.lines[] | select(.what | startswith("algo-flat")) | .figure] == [10 * 64 / 1e9]'

# What fails is in the table, which comes all the same.
export FAKE_NCCL_REFUSES=1 FAKE_FAILS=1
expect 0 "$check" nccl
says out '^nccl +NCCL 22807 does not run 2 ranks on a GPU: invalid usage +left out'
says out '^sweep +sweep of 1 to 2 ranks as threads +ok'
expect 1 "$check" sanitize
says out '^sanitize +memcheck, arithmetic +FAILED'
says out '^6 FAILED'
report '[.lines[] | select(.phase == "sanitize") | .verdict] | unique == ["FAILED"]'
# A mistake in the phase costs nothing.
expect 1 "$check" banana
says err '^usage: '
