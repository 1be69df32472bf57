/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The id through the PMI server of Hydra and of srun --mpi=pmi2. */
#ifndef WEFT_BOOT_ID_EXCHANGE_PMI_H
#define WEFT_BOOT_ID_EXCHANGE_PMI_H

#include "core/boot/id_exchange_entry.h"

/* "pmi": open where PMI_FD names a descriptor, for the ranks that it was opened for. */
extern const weft_id_exchange_t weft_id_exchange_pmi;

#endif
