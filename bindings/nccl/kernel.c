/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The user's choice of a kernel; the default is that of programs of NCCL. */
#include "bindings/nccl/kernel.h"

#include <string.h>

#include <weft/option.h>

#include "bindings/nccl/cuda.h"
#include "bindings/nccl/errors.h"

enum { KERNEL_BYTES = 1001 }; /* of any option's value */

ncclResult_t nccl_kernel_find(const char *call, bool *host_p)
{
    char kernel[KERNEL_BYTES] = "";
    ncclResult_t result = ncclSuccess;
    *host_p = !nccl_cuda_loaded();
    if (!*host_p) {
        result = nccl_report(call, weft_option_given(NULL, "core", "kernel", kernel, sizeof kernel),
                             NULL);
        *host_p = kernel[0] != '\0' && strcmp(kernel, "kernel-cuda") != 0;
    }
    return result;
}
