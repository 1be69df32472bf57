/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last error, of each thread and of the process. */
#include "bindings/nccl/errors.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bindings/nccl/debug.h"

static _Thread_local char mine[NCCL_ERROR_BYTES];

static struct {
    pthread_mutex_t lock;
    char text[NCCL_ERROR_BYTES];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

ncclResult_t nccl_fail(ncclResult_t result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(mine, sizeof mine, format, args);
    va_end(args);
    pthread_mutex_lock(&all.lock);
    memcpy(all.text, mine, sizeof all.text);
    pthread_mutex_unlock(&all.lock);
    nccl_debug_warn(mine);
    return result;
}

ncclResult_t nccl_result_of(weft_status_t status)
{
    switch (status) {
    case WEFT_OK:
        return ncclSuccess;
    case WEFT_IN_PROGRESS:
        return ncclInProgress;
    case WEFT_ERR_ARG:
        return ncclInvalidArgument;
    case WEFT_ERR_STATE:
    case WEFT_ERR_MISMATCH:
    case WEFT_ERR_CONFIG:
    case WEFT_ERR_UNSUPPORTED:
        return ncclInvalidUsage;
    case WEFT_ERR_SYSTEM:
    case WEFT_ERR_RESOURCE:
    case WEFT_ERR_PLUGIN:
        return ncclSystemError;
    case WEFT_ERR_PEER_DEAD:
    case WEFT_ERR_PEER_LEFT:
    case WEFT_ERR_PEER_UNRESPONSIVE:
    case WEFT_ERR_ABORTED:
    case WEFT_ERR_REVOKED:
    case WEFT_ERR_LINK:
    case WEFT_ERR_AUTH:
        return ncclRemoteError;
    case WEFT_ERR_TIMEOUT:
        return ncclTimeout;
    default:
        return ncclInternalError;
    }
}

ncclResult_t nccl_report(const char *call, weft_status_t status, weft_comm_t *comm)
{
    if (status == WEFT_OK || status == WEFT_IN_PROGRESS) {
        return nccl_result_of(status);
    }
    weft_error_t error = {.size = sizeof error};
    if (comm == NULL || weft_comm_error(comm, &error) != WEFT_OK || error.status != status) {
        weft_error_t thread = {.size = sizeof thread};
        error = weft_last_error(&thread) == WEFT_OK ? thread : error;
    }
    return nccl_fail(nccl_result_of(status), "%s: %s: %s", call, weft_status_name(status),
                     error.status == status ? error.text : weft_status_text(status));
}

const char *nccl_error_text(void)
{
    static _Thread_local char copy[NCCL_ERROR_BYTES];
    if (mine[0] != '\0') {
        return mine;
    }
    pthread_mutex_lock(&all.lock);
    memcpy(copy, all.text, sizeof copy);
    pthread_mutex_unlock(&all.lock);
    return copy;
}

void nccl_error_take(const char *text)
{
    snprintf(mine, sizeof mine, "%s", text);
}
