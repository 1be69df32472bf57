/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of `weft run`, and the part of it that one agent does: the ranks of one host. */
#ifndef WEFT_TOOLS_RUN_TASK_H
#define WEFT_TOOLS_RUN_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sdk/endpoint.h>

/* A name of the DNS and its end; Linux has at most 64 characters for its own. */
enum { RUN_HOST_NAME = 256 };

typedef struct run_host {
    char name[RUN_HOST_NAME];
    uint32_t slots;
    uint32_t first, count; /* its ranks */
    bool here;             /* needs no remote shell */
} run_host_t;

typedef struct run_job {
    run_host_t *hosts;
    uint32_t host_count, nranks;
    char **command; /* ends with NULL */
    const char *folder;
    const char *rsh;        /* words of the remote shell, with spaces between */
    const char **variables; /* "NAME=VALUE" for the ranks on other hosts too */
    uint32_t variable_count;
    weft_port_range_t ports; /* of which the id has one */
    double grace;            /* seconds from the request to end until ranks are killed */
    bool label;              /* lines of stdout begin with the rank as well */
    bool bind;               /* each rank to a core of its own */
    bool keep_going;         /* ranks that fail do not end the others */
} run_job_t;

/* Shares `nranks` among the hosts of `list`, "host1:4,host2:4", in its order; 0 takes all slots. A
 * host without a number has one slot. list NULL: this host alone. False and one line on stderr if
 * it cannot. `job->hosts` is the caller's to free. */
bool run_task_hosts(run_job_t *job, const char *list, uint32_t nranks);

/* The strings that tell the agent of `host` what to do, one after the other. The caller frees them;
 * NULL: no memory. */
char *run_task_write(const run_job_t *job, const run_host_t *host, size_t *bytes_p);

/* What the agent reads out of them. Pointers lead into the strings. */
typedef struct run_task {
    uint32_t nranks, first, count;
    bool bind;
    const char *folder;
    const char *const *variables; /* ends with NULL */
    char **command;               /* ends with NULL */
    void *memory;
} run_task_t;

bool run_task_read(const char *data, size_t bytes, run_task_t *task);

#endif
