/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher and the ways of the unique id. It asks nobody: what it says follows from the
 * environment and the configuration, as the choice of a communicator does. */
#include "tools/info_launcher.h"

#include "core/base/error.h"
#include "core/boot/id_exchange.h"
#include "core/boot/id_exchange_given.h"
#include "tools/values.h"

#define WHY_BYTES 256

static void info_launcher_way(json_t *json, const weft_id_exchange_job_t *job,
                              const weft_id_exchange_t *way)
{
    char why[WHY_BYTES] = "";
    bool applies = way->applies(job, why, sizeof why);
    if (json == NULL) {
        printf("  %-7s %-4s %s\n", way->name, applies ? "yes" : "no", why);
        return;
    }
    json_open(json, way->name, '{');
    json_bool(json, "open", applies);
    json_string(json, "why", why);
    json_close(json, '}');
}

static void info_launcher_facts(json_t *json, const weft_launcher_t *launcher)
{
    if (json == NULL) {
        printf("launcher  %s\nrank      %u of %u\n", launcher->name, launcher->rank,
               launcher->nranks);
        if (launcher->local_ranks > 0) {
            printf("of host   %u of %u\n", launcher->local_rank, launcher->local_ranks);
        }
        return;
    }
    json_string(json, "launcher", launcher->name);
    json_unsigned(json, "rank", launcher->rank);
    json_unsigned(json, "nranks", launcher->nranks);
    json_unsigned(json, "local_rank", launcher->local_rank);
    json_unsigned(json, "local_ranks", launcher->local_ranks);
}

static weft_status_t info_launcher_choice(json_t *json, const weft_id_exchange_job_t *job)
{
    char why[WHY_BYTES];
    const weft_id_exchange_t *taken = NULL;
    weft_status_t status = weft_id_exchange_choose(job, why, sizeof why, &taken);
    if (status == WEFT_OK && taken == &weft_id_exchange_given) { /* nobody else is asked for it */
        weft_unique_id_t id;
        status = taken->exchange(job, &id);
    }
    const char *name = status == WEFT_OK ? taken->name : "none";
    const char *text = status == WEFT_OK ? why : weft_error_record()->text;
    if (json == NULL) {
        printf("exchange  %s: %s\n", name, text);
        return status;
    }
    json_string(json, "exchange", name);
    json_string(json, "why", text);
    json_open(json, "ways", '{');
    return status;
}

/* One rank alone exchanges nothing, but takes an id that it is given. */
static weft_status_t info_launcher_exchange(json_t *json, const weft_id_exchange_job_t *job)
{
    char why[WHY_BYTES];
    const bool alone =
        job->launcher->nranks == 1 && !weft_id_exchange_given.applies(job, why, sizeof why);
    weft_status_t status = WEFT_OK;
    if (alone && json == NULL) {
        printf("exchange  none: one rank needs none\n");
        return WEFT_OK;
    }
    if (alone) {
        json_string(json, "exchange", "none");
        return WEFT_OK;
    }
    status = info_launcher_choice(json, job);
    for (uint32_t i = 0; weft_id_exchange_get(i) != NULL; i++) {
        info_launcher_way(json, job, weft_id_exchange_get(i));
    }
    if (json != NULL) {
        json_close(json, '}');
    }
    return status;
}

int info_launcher(json_t *json, const tool_settings_t *settings)
{
    weft_config_t *config = NULL;
    weft_settings_t values;
    weft_launcher_t launcher = {.size = sizeof launcher};
    weft_comm_options_t options = tool_settings_options(settings);
    weft_status_t status = weft_config_load(&options, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &values);
    }
    if (status == WEFT_OK) {
        status = weft_launcher_detect(&launcher);
    }
    if (status != WEFT_OK) {
        weft_config_destroy(config);
        return tool_report(status);
    }
    weft_id_exchange_job_t job = {.launcher = &launcher, .settings = &values.boot};
    if (json != NULL) {
        json_open(json, NULL, '{');
    }
    info_launcher_facts(json, &launcher);
    status = info_launcher_exchange(json, &job);
    if (json != NULL) {
        json_close(json, '}');
    }
    weft_config_destroy(config);
    return tool_exit_code(status);
}
