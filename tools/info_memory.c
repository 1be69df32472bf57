/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft info --memory`: a job that only looks at itself. */
#include "tools/info_memory.h"

#include "tools/holdings_summary.h"
#include "tools/json.h"
#include "tools/perf_fork.h"
#include "tools/tool.h"
#include "tools/values.h"

typedef struct info_job {
    const tool_settings_t *settings;
    uint32_t processes;
    bool as_json;
} info_job_t;

/* When a look is taken. */
enum { AFTER_JOIN, AFTER_CALL, LOOKS };
static const char *const look_names[LOOKS] = {"joined", "after_all_reduce"};
static const char *const look_titles[LOOKS] = {"after joining", "after an all-reduce of 8 bytes"};

static weft_status_t info_memory_look(weft_comm_t *comm, const info_job_t *job,
                                      holdings_summary_t looks[LOOKS])
{
    double value = 1;
    weft_status_t status = holdings_summary_take(comm, job->processes, &looks[AFTER_JOIN]);
    if (status == WEFT_OK) {
        status = weft_all_reduce(&value, &value, 1, WEFT_FP64, WEFT_SUM, comm, NULL);
    }
    if (status == WEFT_OK) {
        status = holdings_summary_take(comm, job->processes, &looks[AFTER_CALL]);
    }
    for (uint32_t i = 0; i < LOOKS && status == WEFT_OK; i++) {
        holdings_summary_t *held = &looks[i];
        status = weft_all_reduce(held->sum, held->sum, HOLDINGS_NUMBERS, WEFT_FP64, WEFT_SUM, comm,
                                 NULL);
        if (status == WEFT_OK) {
            status = weft_all_reduce(held->most, held->most, HOLDINGS_NUMBERS, WEFT_FP64, WEFT_MAX,
                                     comm, NULL);
        }
    }
    return status;
}

static void info_memory_print(const info_job_t *job, const holdings_summary_t looks[LOOKS])
{
    json_t json = {.out = stdout};
    if (job->as_json) {
        json_open(&json, NULL, '{');
        json_string(&json, "weft_version", weft_version());
        for (uint32_t i = 0; i < LOOKS; i++) {
            holdings_summary_json(&looks[i], &json, look_names[i]);
        }
        json_close(&json, '}');
    } else {
        printf("weft %s: what a rank holds, %u process%s of this machine\n", weft_version(),
               job->processes, job->processes == 1 ? "" : "es");
        for (uint32_t i = 0; i < LOOKS; i++) {
            printf("\n%s\n", look_titles[i]);
            holdings_summary_print(&looks[i], "  ");
        }
        printf("\n\"at most\" is with a link to each other rank on one channel; memory that two "
               "ranks share\ncounts on both\n");
    }
    fflush(stdout);
}

static int info_memory_rank(const void *arg, uint32_t index, const weft_unique_id_t *id)
{
    const info_job_t *job = arg;
    weft_comm_t *comm = NULL;
    holdings_summary_t looks[LOOKS] = {{.nranks = 0}};
    weft_comm_options_t options = tool_settings_options(job->settings);
    weft_status_t status = weft_comm_init_rank(&comm, job->processes, id, index, &options);
    if (status == WEFT_OK) {
        status = info_memory_look(comm, job, looks);
    }
    int code = status == WEFT_OK ? TOOL_OK : tool_report(status);
    if (code == TOOL_OK && index == 0) {
        info_memory_print(job, looks);
    }
    weft_comm_destroy(comm);
    return code;
}

int info_memory(const tool_settings_t *settings, uint32_t processes, bool as_json)
{
    info_job_t job = {.settings = settings, .processes = processes, .as_json = as_json};
    perf_fork_job_t fork = {.processes = processes,
                            .threads = 1,
                            .settings = settings,
                            .run = info_memory_rank,
                            .arg = &job};
    return perf_fork_run(&fork);
}
