/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbers as the nccl.h of this machine has them. The compiler compares the prototypes: a second
 * declaration that differs is an error. */
#include <nccl.h>

/* Types of later versions, for prototypes that this header does not have. */
#if NCCL_VERSION_CODE < 22900
#include <stdbool.h>
typedef struct ncclCommProperties ncclCommProperties_t;
typedef struct ncclTeam {
    int nRanks, rank, stride;
} ncclTeam_t;
#endif
#if NCCL_VERSION_CODE < 23100
typedef struct ncclCollConfig ncclCollConfig_t;
#endif

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/facts.h"

const fact_t facts_of_header[] = {FACTS{NULL, 0}};
const int facts_header_version = NCCL_VERSION_CODE;
