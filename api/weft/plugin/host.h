/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Services the core gives to plugins. A plugin receives one `const weft_host_t *` when an instance is
 * created; it stays valid until that instance's destroy() returns. A plugin needs neither getenv nor
 * stderr nor a symbol of the core, so a test can load it with a fake host. */
#ifndef WEFT_PLUGIN_HOST_H
#define WEFT_PLUGIN_HOST_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_host weft_host_t;
typedef struct weft_host_thread weft_host_thread_t; /* opaque */

/* Log levels, most urgent first. Error lines come from set_error(); the data path logs nothing above
 * TRACE. */
typedef enum weft_log_level {
    WEFT_LOG_ERROR = 0,
    WEFT_LOG_WARN = 1,
    WEFT_LOG_INFO = 2,
    WEFT_LOG_DEBUG = 3,
    WEFT_LOG_TRACE = 4
} weft_log_level_t;

struct weft_host {
    size_t size; /* sizeof(weft_host_t) of the core */
    void *core;  /* the core's own; not for plugins */
    uint32_t
        log_level; /* most verbose weft_log_level_t that is printed; test it before costly text */

    /* What: writes one line with the plugin's name as prefix; lower case, no newline at the end.
     * Failure: none, a line that cannot be written is dropped. Ownership: text is copied.
     * Blocks: may write to a file or terminal. Thread: [any]. */
    void (*log)(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
        WEFT_PRINTF(3, 4);

    /* What: records the cause of a failure for the calling thread, and returns `status`, so that
     * `return host->set_error(host, WEFT_ERR_LINK, errno, "connect to %s", text);` is one line.
     * The first function that decides an error calls it, once; callers only pass the status on.
     * `os_errno` is 0 if no system call failed; its text is appended. Failure: none.
     * Ownership: text is copied. Blocks: no. Thread: [any]. */
    weft_status_t (*set_error)(const weft_host_t *host, weft_status_t status, int os_errno,
                               const char *format, ...) WEFT_PRINTF(4, 5);

    /* What: allocates `bytes`, aligned to `align` (a power of two, 0 = suits any object), zeroed.
     * Failure: NULL, error recorded. Ownership: the plugin's, until free(). Blocks: no. Thread: [any]. */
    void *(*alloc)(const weft_host_t *host, size_t bytes, size_t align);

    /* What: frees what alloc() returned; NULL is allowed. Thread: [any]. */
    void (*free)(const weft_host_t *host, void *memory);

    /* What: monotonic time in nanoseconds; under simulation it is virtual time. Thread: [any]. */
    uint64_t (*clock_ns)(const weft_host_t *host);

    /* What: fills `bytes` of `out` with random bytes fit for keys. Failure: ERR_SYSTEM.
     * Blocks: only early at boot. Thread: [any]. */
    weft_status_t (*random)(const weft_host_t *host, void *out, size_t bytes);

    /* What: starts a named thread (at most 15 characters) with all signals blocked and the affinity
     * of the process. Failure: ERR_RESOURCE. Ownership: the plugin must join it. Thread: [control]. */
    weft_status_t (*thread_start)(const weft_host_t *host, const char *name, void (*run)(void *arg),
                                  void *arg, weft_host_thread_t **thread_p);

    /* What: waits for the thread's end and frees it. Blocks: until then. Thread: [control]. */
    void (*thread_join)(const weft_host_t *host, weft_host_thread_t *thread);

    /* What: looks up an optional service table by name, e.g. WEFT_SERVICE_AUTH. Failure: NULL if
     * this core does not have it. Ownership: the core's, as long as the host table. Thread: [any]. */
    const void *(*get_service)(const weft_host_t *host, const char *name);
};

/* Service "weft.auth/1": mutual authentication of a new byte stream by a keyed challenge. Both ends
 * hold the communicator's secret; the plugin only moves the bytes:
 *
 *   connector                                   acceptor
 *   client_begin  → hello (WEFT_AUTH_HELLO)   →  server_reply → reply (WEFT_AUTH_REPLY)
 *   client_finish ← reply ; proof (WEFT_AUTH_PROOF) → server_check
 *
 * Nothing of the hello may be trusted, and no memory be allocated for it, before server_check()
 * returned WEFT_OK. Every failure looks the same to the stranger: the acceptor closes the stream. */
#define WEFT_SERVICE_AUTH "weft.auth/1"
#define WEFT_AUTH_HELLO 128 /* bytes of each message */
#define WEFT_AUTH_REPLY 64
#define WEFT_AUTH_PROOF 32
#define WEFT_AUTH_LABEL 64 /* bytes the connector tells the acceptor, authenticated by the proof */
#define WEFT_AUTH_STATE 256

/* State of one handshake, in the plugin's memory; plain bytes, wiped by the last step. */
typedef struct weft_auth_state {
    uint64_t opaque[WEFT_AUTH_STATE / 8];
} weft_auth_state_t;

typedef struct weft_auth_service {
    size_t size;
    /* What: starts a handshake that tells the acceptor `label`. Failure: ERR_SYSTEM (no randomness).
     * Blocks: no. Thread: [any], as for all four. */
    weft_status_t (*client_begin)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t label[WEFT_AUTH_LABEL],
                                  uint8_t hello[WEFT_AUTH_HELLO]);
    /* What: answers a hello. Failure: ERR_AUTH or ERR_PROTO. */
    weft_status_t (*server_reply)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t hello[WEFT_AUTH_HELLO],
                                  uint8_t reply[WEFT_AUTH_REPLY]);
    /* What: checks the acceptor's reply and makes the proof. Failure: ERR_AUTH. */
    weft_status_t (*client_finish)(const weft_host_t *host, weft_auth_state_t *state,
                                   const uint8_t reply[WEFT_AUTH_REPLY],
                                   uint8_t proof[WEFT_AUTH_PROOF]);
    /* What: checks the connector's proof and gives out its label. Failure: ERR_AUTH. */
    weft_status_t (*server_check)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t proof[WEFT_AUTH_PROOF],
                                  uint8_t label[WEFT_AUTH_LABEL]);
} weft_auth_service_t;

/* Service "weft.plan.text/1": reads plans written as text (docs/plan-files.md). A text holds the plans
 * of any number of ranks and shapes one after the other, each from its line `plan …` on. */
#define WEFT_SERVICE_PLAN_TEXT "weft.plan.text/1"

struct weft_plan_builder; /* plan.h */

typedef struct weft_plan_text {
    size_t size;
    const char *name; /* of the text, for errors: the path of its file */
    const char *text; /* need not end with a zero byte */
    size_t bytes;
} weft_plan_text_t;

/* One plan of a text. */
typedef struct weft_plan_text_entry {
    size_t size;
    weft_coll_t coll;
    uint32_t nranks, rank, root;
    uint32_t line;        /* first line of the plan's part of the text, from 1 */
    size_t offset, bytes; /* the part; bytes 0: there is no further plan */
} weft_plan_text_entry_t;

typedef struct weft_plan_text_service {
    size_t size;
    /* What: finds the plan after *head (the first one if head->bytes is 0) and checks that it is well
     * formed; after the last, head->bytes is 0. Failure: ERR_PLAN with name, line, what was found and
     * what is expected; ERR_RESOURCE. Blocks: no. Thread: [any], as for both. */
    weft_status_t (*next)(const weft_host_t *host, const weft_plan_text_t *text,
                          weft_plan_text_entry_t *head);
    /* What: writes the plan that next() found into the builder that emit() was given. Failure: as
     * next(); mistakes made with the builder show when emit() returns. */
    weft_status_t (*write)(const weft_host_t *host, const weft_plan_text_t *text,
                           const weft_plan_text_entry_t *head, struct weft_plan_builder *builder);
} weft_plan_text_service_t;

#ifdef __cplusplus
}
#endif
#endif
