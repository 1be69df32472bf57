/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Services that the core offers to plugins. A plugin receives a `const weft_host_t *` when an
 * instance is created. The pointer stays valid until destroy() of that instance returns. A plugin
 * needs no getenv(), no stderr and no symbol of the core, so a test can load it with a fake
 * host. */
#ifndef WEFT_PLUGIN_HOST_H
#define WEFT_PLUGIN_HOST_H

#include <weft/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_host weft_host_t;
typedef struct weft_host_thread weft_host_thread_t; /* a running thread */

/* Log levels, most urgent first. The core writes the ERROR lines for set_error(). The data path
 * logs at TRACE only. */
typedef enum weft_log_level {
    WEFT_LOG_ERROR = 0,
    WEFT_LOG_WARN = 1,
    WEFT_LOG_INFO = 2,
    WEFT_LOG_DEBUG = 3,
    WEFT_LOG_TRACE = 4
} weft_log_level_t;

struct weft_host {
    /* sizeof(weft_host_t) of the core. */
    size_t size;
    /* The core's own; not for plugins. */
    void *core;
    /* Most verbose weft_log_level_t that is printed. Test it before you build a costly text. */
    uint32_t log_level;

    /* Writes one log line with the plugin's name as prefix. Lines are lower case and do not end
     * with a newline. The text is copied. A line that cannot be written is dropped.
     * Blocking: may write to a file or a terminal. Thread: [any]. */
    void (*log)(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
        WEFT_PRINTF(3, 4);

    /* Records the cause of a failure for the calling thread and returns `status`, so that a plugin
     * can write `return host->set_error(host, WEFT_ERR_LINK, errno, "connect to %s", text);`. The
     * function that detects an error calls it once; its callers only pass the status on.
     * `os_errno` is 0 if no system call failed; otherwise the text of the errno is appended. The
     * text is copied.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*set_error)(const weft_host_t *host, weft_status_t status, int os_errno,
                               const char *format, ...) WEFT_PRINTF(4, 5);

    /* Allocates `bytes` bytes of zeroed memory, aligned to `align`, a power of two; 0 suits any
     * object. The plugin owns the memory until free(). Returns NULL and records the error on
     * failure.
     * Blocking: no. Thread: [any]. */
    void *(*alloc)(const weft_host_t *host, size_t bytes, size_t align);

    /* Frees memory of alloc(). NULL is allowed.
     * Blocking: no. Thread: [any]. */
    void (*free)(const weft_host_t *host, void *memory);

    /* Returns monotonic time in nanoseconds. In a simulation it is virtual time.
     * Blocking: no. Thread: [any]. */
    uint64_t (*clock_ns)(const weft_host_t *host);

    /* Fills `bytes` bytes of `out` with random bytes that are fit for keys.
     * Errors: ERR_SYSTEM.
     * Blocking: only early at boot of the machine. Thread: [any]. */
    weft_status_t (*random)(const weft_host_t *host, void *out, size_t bytes);

    /* Starts a thread with a name of at most 15 characters, all signals blocked, and the affinity
     * of the process. The plugin must join it with thread_join().
     * Errors: ERR_RESOURCE.
     * Blocking: no. Thread: [control]. */
    weft_status_t (*thread_start)(const weft_host_t *host, const char *name, void (*run)(void *arg),
                                  void *arg, weft_host_thread_t **thread_p);

    /* Waits for the end of the thread and frees its handle.
     * Blocking: until the thread ends. Thread: [control]. */
    void (*thread_join)(const weft_host_t *host, weft_host_thread_t *thread);

    /* Looks up an optional service table by name, such as WEFT_SERVICE_AUTH. Returns NULL if this
     * core does not have it. The core owns the table; it lives as long as the host table.
     * Blocking: no. Thread: [any]. */
    const void *(*get_service)(const weft_host_t *host, const char *name);
};

/* Service "weft.auth/1": mutual authentication of a new byte stream with a keyed challenge. Both
 * ends hold the secret of the communicator. The plugin only carries the bytes:
 *
 *   connector (client)                            acceptor (server)
 *   client_begin  -> hello (WEFT_AUTH_HELLO)   ->  server_reply
 *   client_finish <- reply (WEFT_AUTH_REPLY)   <-
 *                 -> proof (WEFT_AUTH_PROOF)   ->  server_check
 *
 * Until server_check() has returned WEFT_OK the acceptor must not trust anything in the hello and
 * must not allocate memory for it. On every failure the acceptor just closes the stream, so that
 * all failures look the same to a peer that is not authenticated. A holder of the secret that
 * speaks another version gets a reply that says so; then client_finish() and server_check()
 * fail. */
#define WEFT_SERVICE_AUTH "weft.auth/1"
#define WEFT_AUTH_HELLO 128 /* bytes of each message */
#define WEFT_AUTH_REPLY 64
#define WEFT_AUTH_PROOF 32
#define WEFT_AUTH_LABEL 64  /* bytes from connector to acceptor, authenticated by the proof */
#define WEFT_AUTH_STATE 256 /* bytes of the state of a handshake */

/* State of one handshake, in memory of the plugin. It is plain bytes; the last step wipes it. */
typedef struct weft_auth_state {
    uint64_t opaque[WEFT_AUTH_STATE / 8];
} weft_auth_state_t;

typedef struct weft_auth_service {
    size_t size;

    /* Starts a handshake that will give `label` to the acceptor. Writes the hello.
     * Errors: ERR_SYSTEM (no random bytes).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*client_begin)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t label[WEFT_AUTH_LABEL],
                                  uint8_t hello[WEFT_AUTH_HELLO]);

    /* Reads a hello and writes the reply.
     * Errors: ERR_AUTH, ERR_PROTO.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*server_reply)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t hello[WEFT_AUTH_HELLO],
                                  uint8_t reply[WEFT_AUTH_REPLY]);

    /* Checks the acceptor's reply and writes the proof.
     * Errors: ERR_AUTH, ERR_PROTO (the acceptor speaks another version; the text says which).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*client_finish)(const weft_host_t *host, weft_auth_state_t *state,
                                   const uint8_t reply[WEFT_AUTH_REPLY],
                                   uint8_t proof[WEFT_AUTH_PROOF]);

    /* Checks the connector's proof and stores its label.
     * Errors: ERR_AUTH, ERR_PROTO (the connector speaks another version; the text says which).
     * Blocking: no. Thread: [any]. */
    weft_status_t (*server_check)(const weft_host_t *host, weft_auth_state_t *state,
                                  const uint8_t proof[WEFT_AUTH_PROOF],
                                  uint8_t label[WEFT_AUTH_LABEL]);
} weft_auth_service_t;

/* Service "weft.call.note/1": says which call of foreign code a plugin is in, so that a hang or a
 * crash in there is named by more than the plugin's own method. The core notes its calls of plugins
 * itself. */
#define WEFT_SERVICE_CALL_NOTE "weft.call.note/1"
typedef struct weft_call_note_service {
    size_t size;

    /* Notes that the calling thread goes into `function`, for texts like "isend of libx.so"; the
     * text must outlive the plugin's use by the core. Returns what stood there before, for leave().
     * Blocking: no. Thread: [any]. */
    const char *(*enter)(const weft_host_t *host, const char *function);

    /* Notes that the call has returned. Blocking: no. Thread: that of enter(). */
    void (*leave)(const weft_host_t *host, const char *before);
} weft_call_note_service_t;

/* Service "weft.plan.text/1": reads plans written as text (docs/plan-files.md). A text holds the
 * plans of any number of ranks and calls, one after the other. Each plan starts with a line `plan
 * ...`. */
#define WEFT_SERVICE_PLAN_TEXT "weft.plan.text/1"

struct weft_plan_builder; /* plan.h */

/* A text with plans. The caller owns it; it is read during the calls. */
typedef struct weft_plan_text {
    size_t size;
    const char *name; /* name of the text in errors: the path of its file */
    const char *text; /* need not end with a NUL */
    size_t bytes;     /* length of the text */
} weft_plan_text_t;

/* One plan of a text. */
typedef struct weft_plan_text_entry {
    size_t size;
    weft_coll_t coll;     /* collective of the plan */
    uint32_t nranks;      /* number of ranks it is for */
    uint32_t rank;        /* rank it belongs to */
    uint32_t root;        /* root of a rooted collective */
    uint32_t line;        /* first line of the plan in the text, from 1 */
    size_t offset, bytes; /* the plan's part of the text; bytes 0: there is no further plan */
} weft_plan_text_entry_t;

typedef struct weft_plan_text_service {
    size_t size;

    /* Finds the plan after *entry, or the first plan if entry->bytes is 0, checks that it is well
     * formed and stores it in *entry. After the last plan entry->bytes is 0.
     * Errors: ERR_PLAN (the text gives name, line, what was found and what was expected),
     * ERR_RESOURCE.
     * Blocking: no. Thread: [any]. */
    weft_status_t (*next)(const weft_host_t *host, const weft_plan_text_t *text,
                          weft_plan_text_entry_t *entry);

    /* Writes the plan that next() found into the builder that emit() was given. Mistakes made with
     * the builder are reported when emit() returns.
     * Errors: as next().
     * Blocking: no. Thread: [any]. */
    weft_status_t (*write)(const weft_host_t *host, const weft_plan_text_t *text,
                           const weft_plan_text_entry_t *entry, struct weft_plan_builder *builder);
} weft_plan_text_service_t;

#ifdef __cplusplus
}
#endif
#endif
