# SPDX-License-Identifier: BSD-3-Clause
# The tests of a launcher with an MPI that is not this system's: E2E_MPI is a folder with bin/mpiexec of
# MPICH, Intel MPI or Open MPI, such as the environment of a Python that has one of their wheels.
. "$(dirname "$0")/common.sh"
mpiexec=$E2E_MPI/bin/mpiexec
version=$("$mpiexec" --version 2>&1)
program=$build/tests/launchers/with_$(basename "$E2E_MPI")
include=$E2E_MPI/include
case $version in
*"Intel(R) MPI"*)
    # It has MPICH's ABI, and its wheel no header.
    kind=hydra
    [ -e "$include/mpi.h" ] || include=$(mpicc.mpich -show 2>/dev/null | grep -o -- '-I[^ ]*' | head -n 1)
    include=${include#-I}
    ;;
*HYDRA*) kind=hydra ;;
*"Open MPI"*) kind=openmpi ;;
*) die "$mpiexec is of no MPI that is known here: $version" ;;
esac
echo "${version%%$'\n'*}"
if [ -e "$include/mpi.h" ] && [ -z "${E2E_SANITIZE:-}" ]; then
    expect 0 cc -std=c11 -I"$source_dir/api" -I"$include" "$source_dir/tests/launchers/with_mpi.c" \
        -o "$program" "$(ls "$E2E_MPI"/lib/libmpi.so.[0-9]* | head -n 1)" "$build/lib/libweft.so" \
        -Wl,-rpath,"$build/lib" -Wl,-rpath,"$E2E_MPI/lib" -Wl,-rpath-link,"$E2E_MPI/lib/openmpi"
fi
export E2E_MPIEXEC=$mpiexec E2E_MPI_PROGRAM=$program
bash "$source_dir/tests/launchers/test_$kind.sh"
