/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The queries of the TCPStore that carry an id. Numbers are those of torch 2.4 and later, which the
 * stores of 2.13 and 2.15 answer. */
#include "core/boot/torch_store.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"

#define ADDRS 4
#define QUERY_BYTES 512
#define ATTEMPT_NS (5 * WEFT_NS_PER_S)
/* When it says that nobody listens. */
#define SAY_NS (5 * WEFT_NS_PER_S)
#define PAUSE_NS (50 * WEFT_NS_PER_MS)

enum { QUERY_VALIDATE = 0, QUERY_SET = 1, QUERY_GET = 3, QUERY_WAIT = 6, QUERY_DELETE = 8 };
enum { QUERY_PING = 13 };
#define STORE_MAGIC UINT32_C(0x3C85F7CE)

typedef struct query {
    uint8_t bytes[QUERY_BYTES];
    size_t used;
} query_t;

static void torch_store_put(query_t *query, const void *data, size_t bytes)
{
    if (query->used + bytes <= sizeof query->bytes) {
        memcpy(query->bytes + query->used, data, bytes);
    }
    query->used += bytes;
}

static void torch_store_put_kind(query_t *query, int kind)
{
    uint8_t byte = (uint8_t)kind;
    torch_store_put(query, &byte, 1);
}

static void torch_store_put_text(query_t *query, const void *data, size_t bytes)
{
    uint64_t length = bytes;
    torch_store_put(query, &length, sizeof length);
    torch_store_put(query, data, bytes);
}

static weft_status_t torch_store_lost(const weft_torch_store_t *store, int error)
{
    return weft_fail(WEFT_ERR_LINK, error, "the store of torchrun at %s closed the connection",
                     store->name);
}

/* Waits until the socket is ready. */
static weft_status_t torch_store_wait(const weft_torch_store_t *store, short events,
                                      const char *what)
{
    struct pollfd entry = {.fd = store->fd, .events = events};
    int ready = weft_os_poll(&entry, 1, store->until);
    if (ready < 0) {
        return weft_error_record()->status;
    }
    if (ready == 0 && weft_os_clock_ns() >= store->until) {
        return weft_fail(WEFT_ERR_TIMEOUT, 0, "the store of torchrun at %s %s before init_timeout",
                         store->name, what);
    }
    return WEFT_OK;
}

static weft_status_t torch_store_send(const weft_torch_store_t *store, const query_t *query)
{
    size_t sent = 0;
    if (query->used > sizeof query->bytes) {
        return weft_fail(WEFT_ERR_ARG, 0, "a query of %zu bytes for the store of torchrun",
                         query->used);
    }
    while (sent < query->used) {
        int error = 0;
        weft_status_t status = torch_store_wait(store, POLLOUT, "read nothing");
        if (status != WEFT_OK) {
            return status;
        }
        ssize_t moved = weft_os_send(store->fd, query->bytes + sent, query->used - sent, &error);
        if (moved == WEFT_OS_BROKEN) {
            return torch_store_lost(store, error);
        }
        sent += moved > 0 ? (size_t)moved : 0;
    }
    return WEFT_OK;
}

static weft_status_t torch_store_receive(const weft_torch_store_t *store, void *data, size_t bytes,
                                         const char *late)
{
    for (size_t got = 0; got < bytes;) {
        int error = 0;
        weft_status_t status = torch_store_wait(store, POLLIN, late);
        if (status != WEFT_OK) {
            return status;
        }
        ssize_t moved = weft_os_recv(store->fd, (uint8_t *)data + got, bytes - got, &error);
        if (moved == 0 || moved == WEFT_OS_BROKEN) {
            return torch_store_lost(store, error);
        }
        got += moved > 0 ? (size_t)moved : 0;
    }
    return WEFT_OK;
}

static weft_status_t torch_store_wrong(const weft_torch_store_t *store, const char *what)
{
    return weft_fail(WEFT_ERR_PROTO, 0,
                     "%s is no store of torchrun that weft knows: %s; set boot.exchange to another "
                     "way, or WEFT_UNIQUE_ID",
                     store->name, what);
}

/* Tries one address. AGAIN: nobody listens there. */
static weft_status_t torch_store_connect(weft_torch_store_t *store, const weft_os_addr_t *addr)
{
    uint64_t attempt = weft_os_clock_ns() + ATTEMPT_NS;
    if (weft_os_connect(addr, &store->fd) != WEFT_OK) {
        store->fd = -1;
        return WEFT_AGAIN;
    }
    struct pollfd entry = {.fd = store->fd, .events = POLLOUT};
    int ready = weft_os_poll(&entry, 1, attempt < store->until ? attempt : store->until);
    int error = ready > 0 ? weft_os_connect_result(store->fd) : -1;
    if (error != 0) {
        (void)weft_fail(WEFT_ERR_LINK, error > 0 ? error : 0,
                        error > 0 ? "cannot connect" : "it does not answer");
        weft_torch_store_close(store);
        return WEFT_AGAIN;
    }
    weft_os_tune_control(store->fd);
    return WEFT_OK;
}

/* The first query says what we take it for; a ping shows that it is that. */
static weft_status_t torch_store_greet(const weft_torch_store_t *store)
{
    query_t query = {.used = 0};
    uint32_t magic = STORE_MAGIC, nonce = (uint32_t)weft_os_pid(), back = 0;
    torch_store_put_kind(&query, QUERY_VALIDATE);
    torch_store_put(&query, &magic, sizeof magic);
    torch_store_put_kind(&query, QUERY_PING);
    torch_store_put(&query, &nonce, sizeof nonce);
    weft_status_t status = torch_store_send(store, &query);
    if (status == WEFT_OK) {
        status = torch_store_receive(store, &back, sizeof back, "did not answer a ping");
    }
    if (status == WEFT_OK && back != nonce) {
        status = torch_store_wrong(store, "it answers a ping with something else");
    }
    return status;
}

weft_status_t weft_torch_store_open(weft_torch_store_t *store, const char *host, uint16_t port,
                                    uint64_t until)
{
    const uint64_t say_at = weft_os_clock_ns() + SAY_NS;
    bool said = false;
    *store = (weft_torch_store_t){.fd = -1, .until = until};
    snprintf(store->name, sizeof store->name, "%.80s:%u", host, port);
    for (;;) {
        weft_os_addr_t addrs[ADDRS];
        uint32_t count = weft_os_addr_find(host, port, addrs, ADDRS);
        for (uint32_t i = 0; i < count; i++) {
            if (torch_store_connect(store, &addrs[i]) == WEFT_OK) {
                return torch_store_greet(store);
            }
        }
        if (!said && weft_os_clock_ns() >= say_at) {
            said = true;
            weft_log(WEFT_LOG_WARN, "boot",
                     "nobody listens at %s, where torchrun serves its store; tried until "
                     "init_timeout: %s",
                     store->name, weft_error_record()->text);
        }
        if (weft_os_clock_ns() + PAUSE_NS >= until) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0,
                             "nobody listened at %s before init_timeout, where torchrun serves its "
                             "store: %s",
                             store->name, weft_error_record()->text);
        }
        if (weft_os_cancelled() != WEFT_OK) {
            return weft_error_record()->status;
        }
        weft_os_sleep_ns(PAUSE_NS);
    }
}

weft_status_t weft_torch_store_set(weft_torch_store_t *store, const char *key, const void *value,
                                   size_t bytes)
{
    query_t query = {.used = 0};
    torch_store_put_kind(&query, QUERY_SET);
    torch_store_put_text(&query, key, strlen(key));
    torch_store_put_text(&query, value, bytes);
    return torch_store_send(store, &query);
}

weft_status_t weft_torch_store_get(weft_torch_store_t *store, const char *key, void *value,
                                   size_t bytes)
{
    query_t query = {.used = 0};
    uint64_t keys = 1, length = 0;
    uint8_t stop = 1;
    torch_store_put_kind(&query, QUERY_WAIT);
    torch_store_put(&query, &keys, sizeof keys);
    torch_store_put_text(&query, key, strlen(key));
    weft_status_t status = torch_store_send(store, &query);
    if (status == WEFT_OK) {
        status = torch_store_receive(store, &stop, 1, "did not get the unique id from rank 0");
    }
    if (status == WEFT_OK && stop != 0) {
        status = torch_store_wrong(store, "it ends a wait with something else than 0");
    }
    query.used = 0;
    torch_store_put_kind(&query, QUERY_GET);
    torch_store_put_text(&query, key, strlen(key));
    if (status == WEFT_OK) {
        status = torch_store_send(store, &query);
    }
    if (status == WEFT_OK) {
        status = torch_store_receive(store, &length, sizeof length, "did not give a value");
    }
    if (status == WEFT_OK && length != bytes) {
        status = torch_store_wrong(store, "the value that rank 0 put is of another length");
    }
    return status == WEFT_OK ? torch_store_receive(store, value, bytes, "did not give a value")
                             : status;
}

weft_status_t weft_torch_store_delete(weft_torch_store_t *store, const char *key)
{
    query_t query = {.used = 0};
    uint64_t deleted;
    torch_store_put_kind(&query, QUERY_DELETE);
    torch_store_put_text(&query, key, strlen(key));
    weft_status_t status = torch_store_send(store, &query);
    return status == WEFT_OK
               ? torch_store_receive(store, &deleted, sizeof deleted, "did not delete a key")
               : status;
}

void weft_torch_store_close(weft_torch_store_t *store)
{
    weft_os_close(store->fd);
    store->fd = -1;
}
