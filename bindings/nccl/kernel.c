/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The user's choice of a kernel; the default is that of programs of NCCL. */
#include "bindings/nccl/kernel.h"

#include <string.h>

#include <weft/option.h>

#include "bindings/nccl/cuda.h"

enum { KERNEL_BYTES = 1001 }; /* of any option's value */

bool nccl_kernel_is_host(void)
{
    char kernel[KERNEL_BYTES] = "";
    if (!nccl_cuda_loaded()) {
        return true;
    }
    (void)!weft_option_given(NULL, "core", "kernel", kernel, sizeof kernel);
    return kernel[0] != '\0' && strcmp(kernel, "kernel-cuda") != 0;
}
