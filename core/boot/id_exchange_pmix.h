/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The id through the PMIx server of Open MPI's mpirun, prterun and srun --mpi=pmix. */
#ifndef WEFT_BOOT_ID_EXCHANGE_PMIX_H
#define WEFT_BOOT_ID_EXCHANGE_PMIX_H

#include "core/boot/id_exchange_entry.h"
#include "core/boot/pmix_abi.h"

/* "pmix": open where a PMIx server has told its address and libpmix.so.2 can be loaded. */
extern const weft_id_exchange_t weft_id_exchange_pmix;

/* Carries the id over the functions of `pmix`, which has been loaded. For tests besides. */
weft_status_t weft_pmix_carry(const weft_pmix_t *pmix, const weft_id_exchange_job_t *job,
                              weft_unique_id_t *id);
/* False if this text names a version whose layouts are not known. */
bool weft_pmix_version_is_known(const char *version);

#endif
