/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numbers as the nccl.h of this machine has them. The compiler compares the prototypes: a
 * second declaration that differs is an error. */
#include <nccl.h>

/* Types of nccl_device.h, which is C++, and of later versions, for the prototypes. */
#include <stdbool.h>
typedef struct ncclCommProperties ncclCommProperties_t;
typedef struct ncclTeam {
    int nRanks, rank, stride;
} ncclTeam_t;
/* Later headers take the function away from programs; the library keeps it. */
#undef ncclResetDebugInit
#undef pncclResetDebugInit
#if NCCL_VERSION_CODE < 22900
typedef struct ncclWaitSignalDesc ncclWaitSignalDesc_t;
#endif
#if NCCL_VERSION_CODE < 23100
typedef struct ncclCollConfig ncclCollConfig_t;
#endif

#include "bindings/nccl/functions.h"
#include "tests/bindings/nccl/facts.h"

#if NCCL_VERSION_CODE < 23200
#undef FACTS_OF_2_32
#define FACTS_OF_2_32
#endif
const fact_t facts_of_header[] = {FACTS FACTS_OF_2_32{NULL, 0}};
const int facts_header_version = NCCL_VERSION_CODE;
