/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See ncclnet_call.h. */
#include "ncclnet_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The instance whose call the thread is in, and the first warning in that call. */
static _Thread_local weft_net_t *caller;
static _Thread_local char warning[200];

/* The log function has no argument of its own, so lines of the library's threads need this. */
static pthread_mutex_t listeners_lock = PTHREAD_MUTEX_INITIALIZER;
static weft_net_t *listeners;

void ncclnet_log_add(weft_net_t *net)
{
    pthread_mutex_lock(&listeners_lock);
    net->next = listeners;
    listeners = net;
    pthread_mutex_unlock(&listeners_lock);
}

void ncclnet_log_remove(weft_net_t *net)
{
    pthread_mutex_lock(&listeners_lock);
    weft_net_t **link = &listeners;
    while (*link != NULL && *link != net) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = net->next;
    }
    pthread_mutex_unlock(&listeners_lock);
}

static void ncclnet_log_line(const weft_net_t *net, weft_log_level_t level, const char *text)
{
    net->host->log(net->host, level, "%s: %s",
                   net->library != NULL ? net->library->file : net->config.library, text);
}

void ncclnet_log(int level, unsigned long subsystems, const char *where, int line,
                 const char *format, ...)
{
    char text[400];
    va_list args;
    (void)subsystems;
    (void)where;
    (void)line;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    text[strcspn(text, "\n")] = '\0';
    if (level == WEFT_NCCL_LOG_WARN && warning[0] == '\0') { /* those behind it follow from it */
        snprintf(warning, sizeof warning, "%.199s", text);
    }
    /* A warning that matters comes back with the result of its call. */
    weft_log_level_t mine = level >= WEFT_NCCL_LOG_TRACE ? WEFT_LOG_TRACE : WEFT_LOG_DEBUG;
    if (caller != NULL) {
        ncclnet_log_line(caller, mine, text);
        return;
    }
    pthread_mutex_lock(&listeners_lock);
    if (listeners != NULL) {
        ncclnet_log_line(listeners, level == WEFT_NCCL_LOG_WARN ? WEFT_LOG_WARN : mine, text);
    }
    pthread_mutex_unlock(&listeners_lock);
}

static const char *const names[NCCLNET_FUNCTION_COUNT] = {
#define NCCLNET_NAME(id, text) text,
    NCCLNET_FUNCTIONS(NCCLNET_NAME)
#undef NCCLNET_NAME
};

void ncclnet_call_prepare(ncclnet_library_t *library)
{
    for (int i = 0; i < NCCLNET_FUNCTION_COUNT; i++) {
        snprintf(library->notes[i], sizeof library->notes[i], "%s of %s", names[i], library->file);
    }
}

ncclnet_call_t ncclnet_call_begin(weft_net_t *net, ncclnet_function_t function, int dev)
{
    ncclnet_call_t call = {.net = net, .function = function, .dev = dev, .outer = caller};
    caller = net;
    warning[0] = '\0';
    if (net->notes != NULL) {
        call.before = net->notes->enter(net->host, net->library->notes[function]);
    }
    return call;
}

static void ncclnet_call_leave(const ncclnet_call_t *call)
{
    caller = call->outer;
    if (call->net->notes != NULL) {
        call->net->notes->leave(call->net->host, call->before);
    }
}

static const char *ncclnet_result_name(int result)
{
    static const char *const results[] = {
        "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
        "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
    return result >= 0 && (size_t)result < sizeof results / sizeof results[0] ? results[result]
                                                                              : "no ncclResult_t";
}

/* Writes "libnccl-net-x.so: isend on device 0 failed with ncclSystemError (2): its first
 * warning". */
static void ncclnet_call_text(const ncclnet_call_t *call, int result, char *text, size_t bytes)
{
    const char *file = call->net->library->file;
    char device[32] = "";
    if (call->dev >= 0) {
        snprintf(device, sizeof device, " on device %d", call->dev);
    }
    snprintf(text, bytes, "%s: %s%s failed with %s (%d)%s%s", file, names[call->function], device,
             ncclnet_result_name(result), result, warning[0] != '\0' ? ": " : "", warning);
}

static weft_status_t ncclnet_result_status(int result)
{
    return result == WEFT_NCCL_SYSTEM_ERROR   ? WEFT_ERR_SYSTEM
           : result == WEFT_NCCL_REMOTE_ERROR ? WEFT_ERR_LINK
                                              : WEFT_ERR_PLUGIN;
}

weft_status_t ncclnet_call_end(const ncclnet_call_t *call, int result)
{
    const weft_host_t *host = call->net->host;
    char text[400];
    ncclnet_call_leave(call);
    if (result == WEFT_NCCL_SUCCESS) {
        return WEFT_OK;
    }
    ncclnet_call_text(call, result, text, sizeof text);
    return host->set_error(host, ncclnet_result_status(result), 0, "%s", text);
}

weft_status_t ncclnet_conn_error(weft_net_conn_t *conn, weft_status_t status, const char *format,
                                 ...)
{
    char text[sizeof conn->why];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (conn->why[0] == '\0') {
        memcpy(conn->why, text, sizeof text);
    }
    return conn->host->set_error(conn->host, status, 0, "%s", text);
}

weft_status_t ncclnet_call_end_operation(const ncclnet_call_t *call, weft_net_conn_t *conn,
                                         int result)
{
    char text[400];
    ncclnet_call_leave(call);
    if (result == WEFT_NCCL_SUCCESS) {
        return WEFT_OK;
    }
    ncclnet_call_text(call, result, text, sizeof text);
    bool misused = result == WEFT_NCCL_INVALID_USAGE || result == WEFT_NCCL_INVALID_ARGUMENT;
    return ncclnet_conn_error(
        conn, misused && call->function == NCCLNET_TEST ? WEFT_ERR_PROTO : WEFT_ERR_LINK,
        "%s (peer %s)", text, conn->info.peer);
}

weft_status_t ncclnet_call_end_join(const ncclnet_call_t *call, weft_net_conn_t *conn, int result)
{
    char text[400];
    ncclnet_call_leave(call);
    if (result == WEFT_NCCL_SUCCESS) {
        return WEFT_OK;
    }
    ncclnet_call_text(call, result, text, sizeof text);
    return ncclnet_conn_error(conn, ncclnet_result_status(result), "%s (peer %s)", text,
                              conn->info.peer);
}

void ncclnet_call_end_close(const ncclnet_call_t *call, int result)
{
    char text[400];
    ncclnet_call_leave(call);
    if (result != WEFT_NCCL_SUCCESS) {
        ncclnet_call_text(call, result, text, sizeof text);
        call->net->host->log(call->net->host, WEFT_LOG_WARN, "%s", text);
    }
}
