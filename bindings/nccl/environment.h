/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variables that the binding reads itself. Those of NCCL are no options of weft, and the
 * options of weft (WEFT_…) are weft's to read. */
#ifndef BINDINGS_NCCL_ENVIRONMENT_H
#define BINDINGS_NCCL_ENVIRONMENT_H

#include <stdbool.h>

typedef enum nccl_debug {
    NCCL_DEBUG_NONE = 0,
    NCCL_DEBUG_VERSION,
    NCCL_DEBUG_WARN,
    NCCL_DEBUG_INFO
} nccl_debug_t;

/* What NCCL_DEBUG asks for; words above INFO count as INFO. */
nccl_debug_t nccl_env_debug(void);
/* Whether NCCL_COMM_ID names the address at which NCCL's ranks would meet. */
bool nccl_env_comm_id(void);
/* The file for names of refused calls, which `weft nccl-run` sets; or NULL. */
const char *nccl_env_refused_file(void);

#endif
