/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See job.h. */
#include "tools/job.h"

#include <string.h>

#include "tools/perf_fork.h"
#include "tools/values.h"

static int job_run_forked(const void *arg, uint32_t index, const weft_unique_id_t *id)
{
    const tool_job_t *job = arg;
    return job->run(job->arg, index, (uint32_t)job->processes, id);
}

static int job_run_launched(const tool_job_t *job)
{
    weft_unique_id_t id;
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_comm_options_t settings = tool_settings_options(job->settings);
    weft_status_t status = weft_launcher_detect(&launcher);
    if (status == WEFT_OK && launcher.nranks < 2) {
        return tool_usage("one rank alone has no choice; -P 4 runs four on this machine");
    }
    memset(&id, 0, sizeof id);
    if (status == WEFT_OK && launcher.rank == 0) {
        status = weft_unique_id_create(&id, &settings);
    }
    if (status == WEFT_OK) {
        status = weft_launcher_exchange_id(&launcher, &id, &settings);
    }
    return status != WEFT_OK ? tool_report(status)
                             : job->run(job->arg, launcher.rank, launcher.nranks, &id);
}

int tool_job_run(const tool_job_t *job)
{
    if (job->processes == 0) {
        return job_run_launched(job);
    }
    perf_fork_job_t fork = {.processes = (uint32_t)job->processes,
                            .threads = 1,
                            .settings = job->settings,
                            .run = job_run_forked,
                            .arg = job};
    return perf_fork_run(&fork);
}
