/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SDK: what wait_fd() of a net plugin returns where the system does not watch all descriptors.
 * Thread: any. */
#ifndef WEFT_SDK_WATCH_H
#define WEFT_SDK_WATCH_H

#include <errno.h>

#include <weft/plugin/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the error that `what`, such as "a connection", cannot be watched; `cause` is the errno of
 * epoll_ctl(). Returns ERR_RESOURCE. Does not block. */
static inline weft_status_t weft_watch_refused(const weft_host_t *host, const char *what, int cause)
{
    return host->set_error(host, WEFT_ERR_RESOURCE, cause, "cannot watch %s%s", what,
                           cause == ENOSPC ? " (see fs.epoll.max_user_watches)" : "");
}

#ifdef __cplusplus
}
#endif

#endif
