/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A core for tests of plugins: loads a plugin, fills its config struct from the option table, and
 * offers the host services with counters and seeded failures. It needs no part of the real core, so
 * that the conformance programs can be installed and run against plugins of other trees. */
#ifndef WEFT_TESTS_FAKE_HOST_H
#define WEFT_TESTS_FAKE_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <weft/plugin/plugin.h>

/* `host` goes to create(); the rest is for the test. Counters may be read at any time. */
typedef struct fake_host {
    weft_host_t host;
    const char *name;           /* prefix of log lines */
    bool verbose;               /* print log lines and errors on stderr */
    bool no_auth;               /* get_service(WEFT_SERVICE_AUTH) answers NULL */
    uint8_t key[32];            /* of the auth service; equal in all fake hosts at first */
    _Atomic uint64_t allocs;    /* allocations asked for so far */
    _Atomic uint64_t live;      /* allocations not freed yet */
    _Atomic uint64_t fail_at;   /* the allocation with this number (from 1) fails; 0 = none */
    _Atomic uint64_t errors;    /* calls of set_error */
    pthread_mutex_t lock;       /* of the fields below */
    weft_status_t error_status; /* of the last set_error */
    char error[512];            /* text of the last set_error */
    char log[16384];            /* the newest log lines, one per line */
} fake_host_t;

/* What: sets up a host with log level DEBUG. fini() only releases the lock; test `live` before. */
void fake_host_init(fake_host_t *fake, const char *name);
void fake_host_fini(fake_host_t *fake);

/* What: copies the last error's text, "" if there was none, and forgets it. */
void fake_host_take_error(fake_host_t *fake, char *text, size_t bytes);

/* What: opens a plugin and checks what the core's loader checks of the descriptor. Failure: NULL,
 * the reason in `why`. The object is never closed, so that sanitizers keep its symbols. */
const weft_plugin_t *fake_plugin_open(const char *path, weft_plugin_kind_t kind, char *why,
                                      size_t bytes);

/* What: makes the plugin's config struct: defaults of the option table, then `settings`, a list of
 * "key=value" ended by NULL (or NULL). A value counts only if its key is in the table and it parses
 * and is in range. Failure: NULL, the reason in `why`. A plugin without options gets one zero byte.
 * Ownership: the caller's, fake_config_destroy(). */
void *fake_config_create(const weft_plugin_t *plugin, const char *const *settings, char *why,
                         size_t bytes);
void fake_config_destroy(void *config);

#endif
