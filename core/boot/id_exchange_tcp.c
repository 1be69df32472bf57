/* SPDX-License-Identifier: BSD-3-Clause
 *
 * torchrun's agent listens at MASTER_PORT, so rank 0 cannot; its store carries the id. Rank 0 takes
 * the id out of the store when all have it, for programs that the same agent starts later. */
#include "core/boot/id_exchange_tcp.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/claim_round.h"
#include "core/boot/launcher.h"
#include "core/boot/torch_store.h"
#include "core/config/env.h"

static bool id_exchange_tcp_applies(const weft_id_exchange_job_t *job, char *why, size_t bytes)
{
    uint64_t port;
    const char *host = weft_env("MASTER_ADDR"), *agent = weft_env("TORCHELASTIC_USE_AGENT_STORE");
    if (strcmp(job->launcher->name, "torchrun") != 0) {
        snprintf(why, bytes, "the launcher is not torchrun");
    } else if (job->settings->exchange == WEFT_EXCHANGE_AUTO &&
               weft_launcher_is_local(job->launcher)) {
        snprintf(why, bytes, "all ranks are on this host, where a folder is enough");
    } else if (host == NULL || *host == '\0' || !weft_env_number("MASTER_PORT", &port) ||
               port == 0 || port > UINT16_MAX) {
        snprintf(why, bytes, "MASTER_ADDR and MASTER_PORT are not a host and a port");
    } else if (agent == NULL || strcmp(agent, "True") != 0) {
        snprintf(why, bytes, "TORCHELASTIC_USE_AGENT_STORE is not True: nobody listens there");
    } else {
        snprintf(why, bytes, "torchrun's store at %.100s:%u", host, (unsigned)port);
        return true;
    }
    return false;
}

static weft_status_t id_exchange_tcp_share(const weft_id_exchange_job_t *job,
                                           weft_torch_store_t *store, uint32_t number,
                                           weft_unique_id_t *id)
{
    char key[64];
    const char *restart = weft_env("TORCHELASTIC_RESTART_COUNT");
    const weft_launcher_t *launcher = job->launcher;
    snprintf(key, sizeof key, "weft/id/%.20s/%u", restart != NULL ? restart : "0", number);
    weft_status_t status = launcher->rank == 0
                               ? weft_torch_store_set(store, key, id->bytes, sizeof id->bytes)
                               : weft_torch_store_get(store, key, id->bytes, sizeof id->bytes);
    if (status == WEFT_OK) {
        status = weft_claim_round(id, launcher->rank, launcher->nranks, job->until);
    }
    if (launcher->rank == 0) {
        weft_error_t before = *weft_error_record();
        (void)weft_torch_store_delete(store, key);
        *weft_error_record() = before;
    }
    return status;
}

static weft_status_t id_exchange_tcp_run(const weft_id_exchange_job_t *job, weft_unique_id_t *id)
{
    /* The same on all ranks, so that keys are new. One that fails on this rank counts too. */
    static _Atomic uint32_t exchanges;
    const uint32_t number = atomic_fetch_add(&exchanges, 1);
    uint64_t port = 0;
    weft_torch_store_t store;
    (void)weft_env_number("MASTER_PORT", &port);
    weft_status_t status =
        weft_torch_store_open(&store, weft_env("MASTER_ADDR"), (uint16_t)port, job->until);
    if (status == WEFT_OK) {
        status = id_exchange_tcp_share(job, &store, number, id);
    }
    weft_torch_store_close(&store);
    return status;
}

const weft_id_exchange_t weft_id_exchange_tcp = {
    .name = "tcp", .applies = id_exchange_tcp_applies, .exchange = id_exchange_tcp_run};
