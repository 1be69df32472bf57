# SPDX-License-Identifier: BSD-3-Clause
# Without nvcc, without its libraries or with WEFT_CUDA=OFF, CMake says so once and configures the rest.
. "$(dirname "$0")/common.sh"

command -v cmake >/dev/null || skip "no cmake"
[ -z "${E2E_SANITIZE:-}" ] || skip "the same in every preset"

# configured NAME ARGUMENT…: output in $work/out; the tree has a kernel-cpu and no kernel-cuda.
configured() {
    local folder=$work/$1
    shift
    expect 0 cmake -S "$source_dir" -B "$folder" -DWEFT_TESTS=OFF "$@"
    grep -q 'kernel-cpu\.so' -r "$folder" --include=Makefile --include=build.make --include=build.ninja ||
        die "kernel-cpu is not configured"
    ! grep -q 'kernel-cuda\.so' -r "$folder" --include=build.make --include=build.ninja ||
        die "kernel-cuda is configured"
    [ "$(grep -c 'kernel-cuda is left out: ' "$work/out")" -eq 1 ] || die "not one notice"
}

# CMake looks in more folders than the search path.
ignored=
IFS=: read -ra folders <<<"$PATH:/usr/local/bin:/usr/local/cuda/bin:/opt/cuda/bin"
for folder in "${folders[@]}"; do
    [ ! -e "$folder/nvcc" ] || ignored=$ignored${ignored:+;}$folder
done
configured absent -DCMAKE_IGNORE_PATH="$ignored"
says out 'left out: nvcc was not found \(CUDA Toolkit; set CUDA_PATH or WEFT_NVCC\)$'
configured off -DWEFT_CUDA=OFF
says out 'left out: WEFT_CUDA is OFF$'
printf '#!/bin/sh\necho "broken compiler" >&2\nexit 1\n' >"$work/nvcc"
chmod +x "$work/nvcc"
if [ -e "$build/lib/weft/kernel-cuda.so" ]; then
    configured sanitized -DWEFT_SANITIZE=address
    says out 'left out: sanitizers do not see'
    toolkit=$(sed -n 's/^WEFT_CUDART:FILEPATH=//p;s/^WEFT_CUDA_INCLUDE:PATH=//p' "$build/CMakeCache.txt")
    configured broken -DWEFT_NVCC="$work/nvcc" -DWEFT_CUDA_INCLUDE="$(grep -v '\.a$' <<<"$toolkit")" \
        -DWEFT_CUDART="$(grep '\.a$' <<<"$toolkit")"
    says out 'left out: .*/nvcc cannot compile: broken compiler$'
    expect 1 cmake -S "$source_dir" -B "$work/broken" -DWEFT_TESTS=OFF -DWEFT_CUDA=ON
    says err 'kernel-cuda: .*cannot compile'
fi
