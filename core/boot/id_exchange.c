/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of ways, and weft_launcher_exchange_id() of weft.h. */
#include "core/boot/id_exchange.h"

#include <stdio.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/id_exchange_folder.h"
#include "core/boot/id_exchange_given.h"
#include "core/boot/id_exchange_pmi.h"
#include "core/boot/id_exchange_pmix.h"
#include "core/boot/id_exchange_tcp.h"
#include "core/boot/launcher.h"
#include "core/boot/unique_id.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"

#define WHY_BYTES 256

/* In order of preference, and in that of the choices of boot.exchange behind "auto". */
static const weft_id_exchange_t *const ways[] = {
    &weft_id_exchange_given, &weft_id_exchange_pmi,    &weft_id_exchange_pmix,
    &weft_id_exchange_tcp,   &weft_id_exchange_folder,
};
#define WAYS (sizeof ways / sizeof *ways)

const weft_id_exchange_t *weft_id_exchange_get(uint32_t i)
{
    return i < WAYS ? ways[i] : NULL;
}

static weft_status_t id_exchange_refuse(const weft_id_exchange_job_t *job,
                                        const weft_id_exchange_t *named, const char *why)
{
    char others[64] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < WAYS; i++) {
        char unused[WHY_BYTES];
        if (ways[i]->applies(job, unused, sizeof unused)) {
            at += (size_t)snprintf(others + at, sizeof others - at, "%s%s", at > 0 ? ", " : "",
                                   ways[i]->name);
        }
    }
    if (at > 0) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "boot.exchange = %s: %s; open here: %s", named->name,
                         why, others);
    }
    return weft_fail(WEFT_ERR_CONFIG, 0, "boot.exchange = %s: %s; no other way is open here",
                     named->name, why);
}

/* No way is open. What the folder says is the cause: it is the last that was tried. */
static weft_status_t id_exchange_none(const weft_id_exchange_job_t *job, const char *why)
{
    const char *advice = weft_launcher_advice(job->launcher);
    bool by_hand = job->launcher->local_ranks == 0;
    return weft_fail(WEFT_ERR_UNSUPPORTED, 0,
                     "nothing carries the unique id to all %u ranks of this job: %s. %s%s "
                     "WEFT_UNIQUE_ID on all ranks (`weft id --at HOST:PORT` makes one)%s",
                     job->launcher->nranks, why, advice, *advice != '\0' ? "; or set" : "Set",
                     by_hand ? "" : ", or boot.rendezvous to a folder that all hosts share");
}

weft_status_t weft_id_exchange_choose(const weft_id_exchange_job_t *job, char *why, size_t bytes,
                                      const weft_id_exchange_t **way_p)
{
    char reason[WHY_BYTES] = "";
    int64_t named = job->settings->exchange;
    if (named > 0 && named <= (int64_t)WAYS) {
        const weft_id_exchange_t *way = ways[named - 1];
        if (!way->applies(job, reason, sizeof reason)) {
            return id_exchange_refuse(job, way, reason);
        }
        *way_p = way;
    } else {
        uint32_t i = 0;
        while (i < WAYS && !ways[i]->applies(job, reason, sizeof reason)) {
            i++;
        }
        if (i == WAYS) {
            return id_exchange_none(job, reason);
        }
        *way_p = ways[i];
    }
    if (why != NULL) {
        snprintf(why, bytes, "%s", reason);
    }
    return WEFT_OK;
}

static weft_status_t id_exchange_run(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    char why[WHY_BYTES];
    const weft_id_exchange_t *way = NULL;
    weft_unique_id_t carried = *id;
    weft_status_t status = weft_id_exchange_choose(job, why, sizeof why, &way);
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t start = weft_os_clock_ns();
    if (job->launcher->rank == 0 && way != &weft_id_exchange_given) {
        status = weft_id_mark_rank_0(&carried);
    }
    if (status == WEFT_OK) {
        status = way->exchange(job, &carried);
    }
    if (status == WEFT_OK) {
        *id = carried;
        weft_log(WEFT_LOG_INFO, "boot", "the unique id came by %s (%s) in %.1f ms", way->name, why,
                 (double)(weft_os_clock_ns() - start) / 1e6);
    }
    return status;
}

weft_status_t weft_launcher_exchange_id(const weft_launcher_t *launcher, weft_unique_id_t *id,
                                        const weft_comm_options_t *options)
{
    weft_config_t *config = NULL;
    weft_settings_t settings = {0};
    if (launcher == NULL || id == NULL || launcher->size < sizeof *launcher) {
        return weft_fail(WEFT_ERR_ARG, 0,
                         "weft_launcher_exchange_id: launcher or id is NULL, or size is not set");
    }
    if (launcher->nranks == 0 || launcher->rank >= launcher->nranks) {
        return weft_fail(WEFT_ERR_ARG, 0, "weft_launcher_exchange_id: rank %u of %u",
                         launcher->rank, launcher->nranks);
    }
    weft_status_t status = weft_config_load(options, &config);
    if (status == WEFT_OK) {
        status = weft_settings_read(config, &settings);
    }
    if (status == WEFT_OK) {
        weft_id_exchange_job_t job = {.launcher = launcher,
                                      .settings = &settings.boot,
                                      .until = weft_os_deadline(settings.boot.init_timeout)};
        char why[WHY_BYTES];
        /* One rank has nobody to tell, but takes an id that it is given. */
        if (launcher->nranks > 1 || weft_id_exchange_given.applies(&job, why, sizeof why)) {
            weft_os_cancel_by(weft_config_cancel_fd(options));
            status = id_exchange_run(&job, id);
            weft_os_cancel_by(0);
        }
    }
    weft_config_destroy(config);
    return status;
}
