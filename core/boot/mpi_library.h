/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether an MPI library is in this process too, and how far it is: it speaks to the same PMI or
 * PMIx server as weft. */
#ifndef WEFT_BOOT_MPI_LIBRARY_H
#define WEFT_BOOT_MPI_LIBRARY_H

typedef enum weft_mpi_library {
    WEFT_MPI_ABSENT,
    WEFT_MPI_IDLE, /* it is loaded, and MPI_Init has not been called */
    WEFT_MPI_RUNS,
    WEFT_MPI_ENDED
} weft_mpi_library_t;

/* Asks MPI_Initialized() and MPI_Finalized(), which may be called at any time. */
weft_mpi_library_t weft_mpi_library(void);

#endif
