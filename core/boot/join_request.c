/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Join requests as bytes: rank 4, nranks 4, pid 4, start of the process 4, host id 16, host name
 * 64, addresses 60, namespaces 4. */
#include "core/boot/join_request.h"

#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

#define HOST_AT 16
#define NAME_AT 32
#define ADDRS_AT 96
#define SPACE_AT (ADDRS_AT + WEFT_ID_ADDRS * WEFT_OS_ADDR_BYTES)

_Static_assert(SPACE_AT + 4 == WEFT_WIRE_JOIN_REQUEST, "request fits");

/* Returns how many there are; 0 with the error recorded, and nothing changed. */
static uint32_t join_request_list(weft_join_request_t *request, const char *filter,
                                  const weft_os_addr_t *near, uint16_t port)
{
    weft_os_addr_t addrs[WEFT_ID_ADDRS] = {{0}};
    uint32_t count = weft_os_addrs(filter, near, addrs, WEFT_ID_ADDRS);
    for (uint32_t i = 0; i < count; i++) {
        addrs[i].port = port;
    }
    if (count > 0) {
        memcpy(request->addrs, addrs, sizeof addrs);
    }
    return count;
}

weft_status_t weft_join_request_make(weft_join_request_t *request, uint32_t rank, uint32_t nranks,
                                     const char *filter, uint16_t port)
{
    memset(request, 0, sizeof *request);
    request->rank = rank;
    request->nranks = nranks;
    request->pid = weft_os_pid();
    request->started = weft_os_process_started(request->pid);
    request->space = weft_os_process_space();
    weft_os_host_id(request->host_id);
    weft_os_host_name(request->host_name, sizeof request->host_name);
    if (port == 0) {
        return WEFT_OK;
    }
    return join_request_list(request, filter, NULL, port) > 0 ? WEFT_OK
                                                              : weft_error_record()->status;
}

void weft_join_request_prefer(weft_join_request_t *request, const char *filter,
                              const weft_os_addr_t *near)
{
    /* If the interfaces have gone meanwhile, what there was stays. */
    (void)join_request_list(request, filter, near, request->addrs[0].port);
}

void weft_join_request_encode(const weft_join_request_t *request,
                              uint8_t bytes[WEFT_WIRE_JOIN_REQUEST])
{
    memset(bytes, 0, WEFT_WIRE_JOIN_REQUEST);
    weft_put_u32(bytes, request->rank);
    weft_put_u32(bytes + 4, request->nranks);
    weft_put_u32(bytes + 8, (uint32_t)request->pid);
    weft_put_u32(bytes + 12, request->started);
    weft_put_u32(bytes + SPACE_AT, request->space);
    memcpy(bytes + HOST_AT, request->host_id, sizeof request->host_id);
    memcpy(bytes + NAME_AT, request->host_name, sizeof request->host_name);
    for (uint32_t i = 0; i < WEFT_ID_ADDRS; i++) {
        weft_os_addr_encode(&request->addrs[i], bytes + ADDRS_AT + i * WEFT_OS_ADDR_BYTES);
    }
}

weft_status_t weft_join_request_decode(const uint8_t bytes[WEFT_WIRE_JOIN_REQUEST],
                                       weft_join_request_t *request, const char **why)
{
    memset(request, 0, sizeof *request);
    request->rank = weft_get_u32(bytes);
    request->nranks = weft_get_u32(bytes + 4);
    request->pid = (int32_t)weft_get_u32(bytes + 8);
    request->started = weft_get_u32(bytes + 12);
    request->space = weft_get_u32(bytes + SPACE_AT);
    memcpy(request->host_id, bytes + HOST_AT, sizeof request->host_id);
    memcpy(request->host_name, bytes + NAME_AT, sizeof request->host_name);
    request->host_name[sizeof request->host_name - 1] = '\0';
    for (char *p = request->host_name; *p != '\0'; p++) {
        *p = *p < 0x21 || *p == 0x7f ? '?' : *p;
    }
    for (uint32_t i = 0; i < WEFT_ID_ADDRS; i++) {
        if (weft_os_addr_decode(bytes + ADDRS_AT + i * WEFT_OS_ADDR_BYTES, &request->addrs[i]) !=
            WEFT_OK) {
            *why = "address";
            return WEFT_ERR_PROTO;
        }
    }
    *why = request->pid <= 0 ? "process" : NULL;
    return *why != NULL ? WEFT_ERR_PROTO : WEFT_OK;
}

uint32_t weft_join_request_addrs(const weft_join_request_t *request)
{
    uint32_t count = 0;
    while (count < WEFT_ID_ADDRS && request->addrs[count].family != 0) {
        count++;
    }
    return count;
}
