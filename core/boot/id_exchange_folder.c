/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the rendezvous can carry an id. */
#include "core/boot/id_exchange_folder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/launcher.h"
#include "core/boot/rendezvous.h"
#include "core/config/env.h"

#define JOB_BYTES 1024

/* Variables as torch's env:// has them, as in pods of a PyTorchJob: they say where rank 0 is, and
 * not how many ranks are here. Returns that host if it is a host's name; NULL: it is this one, or
 * the launcher says more. */
static const char *id_exchange_folder_other_host(const weft_launcher_t *launcher)
{
    const char *host = weft_env("MASTER_ADDR");
    if (strcmp(launcher->name, "torchrun") != 0 || launcher->local_ranks != 0 || host == NULL ||
        strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
        strcmp(host, "::1") == 0) {
        return NULL;
    }
    return host;
}

static bool id_exchange_folder_applies(const weft_id_exchange_job_t *job, char *why, size_t bytes)
{
    char name[JOB_BYTES];
    const weft_launcher_t *launcher = job->launcher;
    const char *shared = job->settings->rendezvous;
    if (launcher->local_ranks != 0 && !weft_launcher_is_local(launcher) && *shared == '\0') {
        snprintf(why, bytes, "%u of %u ranks are on this host, and boot.rendezvous is not set",
                 launcher->local_ranks, launcher->nranks);
        return false;
    }
    const char *host = id_exchange_folder_other_host(launcher);
    if (host != NULL && *shared == '\0') {
        snprintf(why, bytes,
                 "rank 0 is on %.64s, LOCAL_WORLD_SIZE does not say that all ranks are, and "
                 "boot.rendezvous is not set",
                 host);
        return false;
    }
    weft_error_t before = *weft_error_record();
    bool named = weft_launcher_name_job(launcher, name, sizeof name) == WEFT_OK;
    if (!named) {
        snprintf(why, bytes, "%s", weft_error_record()->text);
    } else if (*shared != '\0') {
        snprintf(why, bytes, "boot.rendezvous = %s", shared);
    } else if (launcher->local_ranks == 0) {
        snprintf(why, bytes, "it is not known whether all ranks are on this host");
    } else {
        snprintf(why, bytes, "all ranks are on this host");
    }
    *weft_error_record() = before;
    return named;
}

static weft_status_t id_exchange_folder_run(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    char name[JOB_BYTES];
    weft_status_t status = weft_launcher_name_job(job->launcher, name, sizeof name);
    if (status != WEFT_OK) {
        return status;
    }
    weft_rendezvous_t rendezvous = {.job = name,
                                    .rank = job->launcher->rank,
                                    .nranks = job->launcher->nranks,
                                    .settings = job->settings};
    return weft_rendezvous_exchange(&rendezvous, id);
}

const weft_id_exchange_t weft_id_exchange_folder = {
    .name = "folder", .applies = id_exchange_folder_applies, .exchange = id_exchange_folder_run};
