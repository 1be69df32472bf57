/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points for completion queues. */
#include <math.h>

#include "core/base/error.h"
#include "core/comm/call.h"
#include "core/comm/request.h"

static weft_status_t completion_result(weft_status_t status)
{
    return status == WEFT_OK ? status : weft_api_error("completion", status);
}

static weft_status_t completion_refuse_null(const char *call, const char *what)
{
    return completion_result(weft_fail(WEFT_ERR_ARG, 0, "%s: %s is NULL", call, what));
}

/* Frees what nobody else holds of the operation. */
static void completion_release(weft_completion_entry_t *entry)
{
    weft_request_t *request = entry->request;
    if (weft_async_drop(request->async)) {
        weft_request_free(request);
    }
}

weft_status_t weft_completion_queue_create(weft_completion_queue_t **queue_p)
{
    return queue_p == NULL ? completion_refuse_null("weft_completion_queue_create", "queue_p")
                           : completion_result(weft_completion_create(queue_p));
}

weft_status_t weft_completion_queue_destroy(weft_completion_queue_t *queue)
{
    weft_completion_entry_t *entry = NULL;
    if (queue == NULL) {
        return WEFT_OK;
    }
    weft_status_t status = weft_completion_end(queue, &entry);
    while (entry != NULL) {
        weft_completion_entry_t *next = entry->next;
        completion_release(entry);
        entry = next;
    }
    return completion_result(status);
}

weft_status_t weft_completion_queue_fd(weft_completion_queue_t *queue, int *fd_p)
{
    return fd_p == NULL ? completion_refuse_null("weft_completion_queue_fd", "fd_p")
                        : completion_result(weft_completion_descriptor(queue, fd_p));
}

static weft_status_t completion_read(weft_completion_queue_t *queue, weft_completion_t *entries,
                                     uint32_t max, uint32_t *count_p, uint64_t deadline)
{
    uint32_t count = 0;
    weft_completion_entry_t *entry = NULL;
    weft_status_t status = weft_completion_take(queue, max, deadline, &entry);
    if (status != WEFT_OK) {
        return completion_result(status);
    }
    while (entry != NULL) {
        weft_completion_entry_t *next = entry->next;
        entries[count] = entry->told;
        weft_async_raise(entry->error, entries[count++].status);
        completion_release(entry);
        entry = next;
    }
    *count_p = count;
    return WEFT_OK;
}

static weft_status_t completion_check(const char *call, const weft_completion_t *entries,
                                      uint32_t max, const uint32_t *count_p)
{
    if (max == 0) {
        return completion_result(weft_fail(WEFT_ERR_ARG, 0, "%s: max is 0", call));
    }
    return entries == NULL   ? completion_refuse_null(call, "entries")
           : count_p == NULL ? completion_refuse_null(call, "count_p")
                             : WEFT_OK;
}

weft_status_t weft_completion_queue_poll(weft_completion_queue_t *queue, weft_completion_t *entries,
                                         uint32_t max, uint32_t *count_p)
{
    weft_status_t status = completion_check("weft_completion_queue_poll", entries, max, count_p);
    return status == WEFT_OK ? completion_read(queue, entries, max, count_p, 0) : status;
}

weft_status_t weft_completion_queue_wait(weft_completion_queue_t *queue, weft_completion_t *entries,
                                         uint32_t max, uint32_t *count_p, double timeout)
{
    weft_status_t status = completion_check("weft_completion_queue_wait", entries, max, count_p);
    if (status == WEFT_OK && isnan(timeout)) {
        status = completion_result(weft_fail(WEFT_ERR_ARG, 0,
                                             "weft_completion_queue_wait: timeout is not a number; "
                                             "give seconds"));
    }
    uint64_t deadline = timeout == 0 ? weft_os_clock_ns() : weft_os_deadline(timeout);
    return status == WEFT_OK ? completion_read(queue, entries, max, count_p, deadline) : status;
}

weft_status_t weft_completion_queue_wake(weft_completion_queue_t *queue)
{
    return completion_result(weft_completion_wake(queue));
}
