/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: waits that are cancelled. */
#include "core/os/os_cancel.h"

#include <poll.h>

#include "core/base/error.h"

static _Thread_local int cancel_fd; /* 0: none */

void weft_os_cancel_by(int fd)
{
    cancel_fd = fd > 0 ? fd : 0;
}

int weft_os_cancel_fd(void)
{
    return cancel_fd > 0 ? cancel_fd : -1;
}

weft_status_t weft_os_cancelled(void)
{
    struct pollfd entry = {.fd = cancel_fd, .events = POLLIN};
    if (cancel_fd <= 0 || poll(&entry, 1, 0) <= 0) {
        return WEFT_OK;
    }
    int fd = cancel_fd;
    cancel_fd = 0;
    return (entry.revents & POLLNVAL) != 0
               ? weft_fail(WEFT_ERR_ARG, 0, "cancel_fd = %d is no open descriptor", fd)
               : weft_fail(WEFT_ERR_ABORTED, 0, "this rank's join was cancelled, by cancel_fd");
}
