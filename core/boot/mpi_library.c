/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An MPI library is found if the program is linked with it, or under the names that a module of an
 * interpreter loads. */
#include "core/boot/mpi_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/os/os.h"

typedef int (*mpi_flag_fn_t)(int *flag);

/* False also if there is no library; *present tells. */
static bool mpi_library_says(const char *symbol, bool *present)
{
    /* The program itself, MPICH and its relatives, Open MPI. */
    static const char *const libraries[] = {NULL, "libmpi.so.12", "libmpich.so.12", "libmpi.so.40"};
    mpi_flag_fn_t function;
    int flag = 0;
    void *found = NULL;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && found == NULL; i++) {
        found = weft_os_dl_loaded(libraries[i], symbol);
    }
    *present = found != NULL;
    if (found == NULL) {
        return false;
    }
    /* A data pointer does not convert to a function pointer in C; POSIX says the bits do. */
    memcpy(&function, &found, sizeof found);
    return function(&flag) == 0 && flag != 0;
}

weft_mpi_library_t weft_mpi_library(void)
{
    bool present;
    if (mpi_library_says("MPI_Finalized", &present)) {
        return WEFT_MPI_ENDED;
    }
    if (!present) {
        return WEFT_MPI_ABSENT;
    }
    return mpi_library_says("MPI_Initialized", &present) ? WEFT_MPI_RUNS : WEFT_MPI_IDLE;
}
