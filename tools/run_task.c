/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of `weft run`, its hosts, and the strings that an agent gets. */
#include "tools/run_task.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/plural.h"
#include "core/os/os.h"
#include "tools/tool.h"
#include "tools/values.h"

enum { RUN_TASK_RANKS_MOST = 65536, RUN_TASK_NUMBERS = 5 };

static uint32_t run_task_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

/* "localhost" and the name of this host need no remote shell. */
static bool run_task_is_here(const char *name)
{
    char mine[RUN_HOST_NAME];
    weft_os_host_name(mine, sizeof mine);
    return strcmp(name, "localhost") == 0 || strcmp(name, mine) == 0;
}

/* The host of that name, or the next free place. */
static run_host_t *run_task_host(run_job_t *job, const char *name)
{
    for (uint32_t i = 0; i < job->host_count; i++) {
        if (strcmp(job->hosts[i].name, name) == 0) {
            return &job->hosts[i];
        }
    }
    run_host_t *host = &job->hosts[job->host_count++];
    snprintf(host->name, sizeof host->name, "%s", name);
    host->here = run_task_is_here(name);
    return host;
}

/* "host", "host:4", "[fd00::1]:4". */
static bool run_task_take_host(run_job_t *job, char *text)
{
    char *end = text[0] == '[' ? strchr(text, ']') : NULL;
    char *colon = strchr(end != NULL ? end : text, ':');
    int64_t slots = 1;
    if (colon != NULL) {
        *colon = '\0';
        if (!tool_parse_integer("the number behind a host of -H", colon + 1, 1, RUN_TASK_RANKS_MOST,
                                &slots)) {
            return false;
        }
    }
    if (end != NULL && end[1] == '\0') {
        *end = '\0';
        text++;
    }
    if (text[0] == '\0' || strchr("-[", text[0]) != NULL || strpbrk(text, " \t\n") != NULL ||
        strlen(text) >= sizeof job->hosts->name) {
        tool_usage("-H: '%s' is no name of a host", text);
        return false;
    }
    run_task_host(job, text)->slots += (uint32_t)slots;
    return true;
}

/* Fills hosts one after the other. */
static bool run_task_share(run_job_t *job, uint32_t nranks)
{
    uint32_t slots = 0;
    for (uint32_t i = 0; i < job->host_count; i++) {
        slots += job->hosts[i].slots;
    }
    if (nranks == 0 && slots > RUN_TASK_RANKS_MOST) {
        tool_usage("the hosts of -H have %u slots, allowed are %d", slots, RUN_TASK_RANKS_MOST);
        return false;
    }
    job->nranks = nranks > 0 ? nranks : slots;
    if (job->nranks > slots) {
        tool_usage("-n %u, but the hosts of -H have %u slot%s; HOST:N gives a host N of them",
                   nranks, slots, weft_plural(slots));
        return false;
    }
    uint32_t used = 0;
    for (uint32_t i = 0; i < job->host_count; i++) {
        run_host_t *host = &job->hosts[i];
        host->first = used;
        host->count = host->slots < job->nranks - used ? host->slots : job->nranks - used;
        used += host->count;
    }
    while (job->host_count > 1 && job->hosts[job->host_count - 1].count == 0) {
        job->host_count--;
    }
    return true;
}

bool run_task_hosts(run_job_t *job, const char *list, uint32_t nranks)
{
    size_t most = 1;
    for (const char *c = list; c != NULL && *c != '\0'; c++) {
        most += *c == ',';
    }
    char *copy = strdup(list != NULL ? list : "localhost");
    job->hosts = calloc(most, sizeof *job->hosts);
    bool fine = copy != NULL && job->hosts != NULL;
    char *rest = NULL;
    for (char *text = fine ? strtok_r(copy, ",", &rest) : NULL; fine && text != NULL;
         text = strtok_r(NULL, ",", &rest)) {
        fine = run_task_take_host(job, text);
    }
    free(copy);
    if (fine && job->host_count == 0) {
        tool_usage("-H names no host");
        fine = false;
    }
    if (fine && list == NULL) {
        job->hosts[0].slots = nranks > 0 ? nranks : run_task_cores();
    }
    return fine && run_task_share(job, nranks);
}

static void run_task_put(FILE *out, const char *text)
{
    fwrite(text, 1, strlen(text) + 1, out);
}

static void run_task_put_number(FILE *out, uint32_t number)
{
    fprintf(out, "%u", number);
    fputc('\0', out);
}

char *run_task_write(const run_job_t *job, const run_host_t *host, size_t *bytes_p)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes_p);
    if (out == NULL) {
        return NULL;
    }
    run_task_put_number(out, job->nranks);
    run_task_put_number(out, host->first);
    run_task_put_number(out, host->count);
    run_task_put_number(out, job->bind);
    run_task_put_number(out, job->variable_count);
    run_task_put(out, job->folder);
    for (uint32_t i = 0; i < job->variable_count; i++) {
        run_task_put(out, job->variables[i]);
    }
    for (char **word = job->command; *word != NULL; word++) {
        run_task_put(out, *word);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Points to each of `count` strings; two more places are free for a NULL. */
static char **run_task_split(const char *data, size_t bytes, size_t count)
{
    char **strings = calloc(1, (count + 2) * sizeof *strings + bytes);
    if (strings == NULL) {
        return NULL;
    }
    char *text = (char *)(strings + count + 2);
    memcpy(text, data, bytes);
    for (size_t i = 0; i < count; i++) {
        strings[i] = text;
        text += strlen(text) + 1;
    }
    return strings;
}

bool run_task_read(const char *data, size_t bytes, run_task_t *task)
{
    const size_t first = RUN_TASK_NUMBERS + 1;
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        count += data[i] == '\0';
    }
    const bool whole = bytes > 0 && data[bytes - 1] == '\0' && count > first;
    char **strings = whole ? run_task_split(data, bytes, count) : NULL;
    const size_t variables = strings != NULL ? strtoul(strings[4], NULL, 10) : 0;
    if (strings == NULL || variables > count - first - 1) {
        free(strings);
        return false;
    }
    char **command = &strings[first + variables];
    memmove(command + 1, command, (count - first - variables) * sizeof *strings);
    *command = NULL; /* ends the variables */
    *task = (run_task_t){.nranks = (uint32_t)strtoul(strings[0], NULL, 10),
                         .first = (uint32_t)strtoul(strings[1], NULL, 10),
                         .count = (uint32_t)strtoul(strings[2], NULL, 10),
                         .bind = strings[3][0] == '1',
                         .folder = strings[RUN_TASK_NUMBERS],
                         .variables = (const char *const *)&strings[first],
                         .command = command + 1,
                         .memory = strings};
    return task->count > 0 && task->count <= RUN_TASK_RANKS_MOST && task->first < task->nranks &&
           task->count <= task->nranks - task->first;
}
