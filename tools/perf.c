/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft perf`: reads the options, checks them against the launcher, and starts the ranks. */
#include "tools/perf.h"

#include <string.h>

#include "core/base/coll.h"
#include "core/boot/id_exchange.h"
#include "tools/perf_fork.h"
#include "tools/perf_job.h"
#include "tools/perf_options.h"
#include "tools/perf_ranks.h"
#include "tools/perf_report.h"
#include "tools/perf_support.h"
#include "tools/tool.h"
#include "tools/values.h"

/* Says who started the ranks, and how the unique id came to them. */
static void perf_print_launcher(const weft_launcher_t *launcher,
                                const weft_comm_options_t *settings)
{
    char why[256];
    weft_settings_t values;
    weft_config_t *config = NULL;
    const weft_id_exchange_t *way = NULL;
    weft_status_t status = weft_config_load(settings, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &values);
    }
    if (status == WEFT_OK) {
        weft_id_exchange_job_t job = {.launcher = launcher, .settings = &values.boot};
        status = weft_id_exchange_choose(&job, why, sizeof why, &way);
    }
    if (status == WEFT_OK) {
        printf("# Launcher: %s, unique id by %s (%s)\n", launcher->name, way->name, why);
    }
    weft_config_destroy(config);
}

static int perf_launched(const perf_options_t *options, const weft_launcher_t *launcher)
{
    weft_unique_id_t id;
    weft_comm_options_t settings = tool_settings_options(&options->settings);
    perf_process_t process = {
        .options = options,
        .index = launcher->rank,
        .count = launcher->nranks,
        .local = launcher->local_rank,
    };
    memset(&id, 0, sizeof id);
    weft_status_t status = launcher->rank == 0 ? weft_unique_id_create(&id, &settings) : WEFT_OK;
    if (status == WEFT_OK && launcher->nranks > 1) {
        status = weft_launcher_exchange_id(launcher, &id, &settings);
    }
    if (status == WEFT_OK && launcher->nranks > 1 && launcher->rank == 0 &&
        !options->output.json_stdout) {
        perf_print_launcher(launcher, &settings);
    }
    return status != WEFT_OK ? tool_report(status) : perf_process_run(&process, &id);
}

/* Whether all the ranks that were asked for can be, and their collectives. */
static int perf_check_ranks(perf_options_t *options, const weft_launcher_t *launcher,
                            int64_t nranks)
{
    bool rooted = options->every || weft_coll_is_rooted(options->coll);
    if (rooted && options->root >= nranks) {
        return tool_usage("--root %lld, but the ranks are 0 to %lld", (long long)options->root,
                          (long long)nranks - 1);
    }
    return perf_support_check(options, (uint32_t)nranks, launcher->rank == 0);
}

static int perf_forked_run(const void *arg, uint32_t index, const weft_unique_id_t *id)
{
    const perf_options_t *options = arg;
    perf_process_t process = {
        .options = options, .index = index, .count = (uint32_t)options->processes, .local = index};
    return perf_process_run(&process, id);
}

static int perf_forked(const perf_options_t *options)
{
    perf_fork_job_t job = {.processes = (uint32_t)options->processes,
                           .threads = perf_process_threads(options),
                           .settings = &options->settings,
                           .run = perf_forked_run,
                           .arg = options};
    return perf_fork_run(&job);
}

static int perf_start_ranks(perf_options_t *options)
{
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_status_t status = weft_launcher_detect(&launcher);
    if (status != WEFT_OK) {
        return tool_report(status);
    }
    int64_t processes = options->processes > 0 ? options->processes : launcher.nranks;
    int64_t nranks = processes * perf_process_threads(options);
    int code = perf_check_ranks(options, &launcher, nranks);
    if (code == TOOL_OK && launcher.rank == 0) {
        code = perf_report_check(options);
    }
    if (code != TOOL_OK) {
        return code;
    }
    if (nranks == 1 && !options->output.json_stdout) {
        fprintf(stderr, "weft: note: one rank alone; -P 4 runs four on this machine\n");
    }
    return options->processes > 0 ? perf_forked(options) : perf_launched(options, &launcher);
}

int tool_perf(int argc, char **argv)
{
    perf_options_t options;
    bool done;
    int code = perf_options_read(&options, argc, argv, &done);
    return code != TOOL_OK || done ? code : perf_start_ranks(&options);
}
