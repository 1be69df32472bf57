/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Errors in NCCL's manner: a result, and a sentence that ncclGetLastError() gives out. */
#ifndef BINDINGS_NCCL_ERRORS_H
#define BINDINGS_NCCL_ERRORS_H

#include <weft/weft.h>

#include "bindings/nccl/types.h"

enum { NCCL_ERROR_BYTES = 640 };

/* Records the sentence as the last error of this thread and of the process, and prints it if
 * NCCL_DEBUG asks for warnings. Returns `result`. */
ncclResult_t nccl_fail(ncclResult_t result, const char *format, ...) WEFT_PRINTF(2, 3);
/* The result for a status. */
ncclResult_t nccl_result_of(weft_status_t status);
/* The same, and for a failure records weft's sentence: that of `comm`, if it has failed, else the
 * thread's. `call` is the function of NCCL; `comm` may be NULL. */
ncclResult_t nccl_report(const char *call, weft_status_t status, weft_comm_t *comm);
/* The last error of this thread, or of the process if this thread had none; "" if there was none.
 * The text is the thread's until the next call. */
const char *nccl_error_text(void);
/* Makes another thread's sentence the last error of this one. */
void nccl_error_take(const char *text);

#endif
