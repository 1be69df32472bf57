/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks tell PCI addresses, which hosts of one kind need not share. The k-th address of a host is
 * the GPU of the k-th bit of its word, since GPUs are described in the order of their addresses. */
#include "core/topo/job_words.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define GPUS_MAX 128u /* bits of a word */

uint32_t weft_job_address(const char *text)
{
    unsigned domain, bus, device, function;
    int end = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
        text[end] != '\0') {
        return WEFT_JOB_NONE;
    }
    return (domain & 0xffff) << 16 | (bus & 0xff) << 8 | (device & 0x1f) << 3 | (function & 7);
}

bool weft_job_needs_kinds(const weft_job_t *job)
{
    bool needs = job->nhosts > 1;
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        const weft_job_rank_t *told = &job->ranks[rank];
        needs = needs || told->gpu != WEFT_JOB_NONE || told->imagines != 0;
    }
    return needs;
}

/* Words ---------------------------------------------------------------------------------------- */

static uint32_t job_words_gpu(const weft_machine_t *machine, uint32_t address)
{
    uint32_t gpu = 0;
    while (gpu < machine->ngpus && weft_job_address(machine->devices[gpu].address) != address) {
        gpu++;
    }
    return gpu < machine->ngpus && gpu < GPUS_MAX ? gpu : WEFT_JOB_NONE;
}

weft_job_word_t weft_job_word(const weft_job_t *job, uint32_t host, const weft_machine_t *machine,
                              const weft_job_kind_t *kind)
{
    weft_job_word_t word = {.kind = weft_job_kind_hash(kind), .bytes = kind->bytes};
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        if (job->host[rank] == host && job->ranks[rank].gpu != WEFT_JOB_NONE) {
            uint32_t gpu = job_words_gpu(machine, job->ranks[rank].gpu);
            if (gpu != WEFT_JOB_NONE) {
                word.gpus[gpu / 64] |= UINT64_C(1) << gpu % 64;
            }
        }
    }
    return word;
}

/* Kinds are numbered in the order of their first hosts. */
static void job_words_number_kinds(weft_job_t *job, const weft_job_word_t *words)
{
    for (uint32_t host = 0; host < job->nhosts; host++) {
        uint64_t hash = words[job->first[host]].kind;
        uint32_t kind = 0;
        while (kind < job->nkinds && job->hashes[kind] != hash) {
            kind++;
        }
        if (hash != 0 && kind == job->nkinds && kind < WEFT_JOB_KINDS_MAX) {
            job->hashes[job->nkinds++] = hash;
        }
        job->kind[host] = kind < job->nkinds ? kind : WEFT_JOB_NONE;
    }
}

weft_status_t weft_job_take_words(weft_job_t *job, const weft_job_word_t *words)
{
    job->hashes = weft_os_alloc(WEFT_JOB_KINDS_MAX * sizeof *job->hashes, 0);
    job->kinds = weft_os_alloc(WEFT_JOB_KINDS_MAX * sizeof *job->kinds, 0);
    job->views = weft_os_alloc(WEFT_JOB_KINDS_MAX * sizeof *job->views, 0);
    job->device = weft_os_alloc(job->nranks * sizeof *job->device, 0);
    job->participant = weft_os_alloc(job->nranks * sizeof *job->participant, 0);
    if (job->hashes == NULL || job->kinds == NULL || job->views == NULL || job->device == NULL ||
        job->participant == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the hosts of %u ranks",
                         job->nranks);
    }
    job_words_number_kinds(job, words);
    return WEFT_OK;
}

uint32_t weft_job_kind_rank(const weft_job_t *job, uint32_t kind)
{
    uint32_t host = 0;
    while (job->kind[host] != kind) {
        host++;
    }
    return job->first[host];
}

/* Devices -------------------------------------------------------------------------------------- */

/* The ranks of one host, in rank order. */
typedef struct job_words_host {
    const weft_job_kind_t *kind;
    const uint32_t *ranks;
    uint32_t count;
} job_words_host_t;

/* How many different addresses of the host are below this one. */
static uint32_t job_words_below(const weft_job_t *job, const job_words_host_t *host,
                                uint32_t address)
{
    uint32_t below = 0;
    for (uint32_t i = 0; i < host->count; i++) {
        uint32_t other = job->ranks[host->ranks[i]].gpu;
        bool first = other < address;
        for (uint32_t k = 0; first && k < i; k++) {
            first = job->ranks[host->ranks[k]].gpu != other;
        }
        below += first;
    }
    return below;
}

/* The number of the bit that has `below` bits below it, or NONE. */
static uint32_t job_words_bit(const weft_job_word_t *word, uint32_t below)
{
    for (uint32_t bit = 0; bit < GPUS_MAX; bit++) {
        if ((word->gpus[bit / 64] >> bit % 64 & 1) != 0 && below-- == 0) {
            return bit;
        }
    }
    return WEFT_JOB_NONE;
}

static uint32_t job_words_device(const weft_job_t *job, const job_words_host_t *host,
                                 const weft_job_word_t *word, uint32_t rank)
{
    uint32_t address = job->ranks[rank].gpu;
    /* If the machine does not have all of the addresses, nobody knows which. */
    bool whole =
        job_words_bit(word, job_words_below(job, host, WEFT_JOB_NONE)) == WEFT_JOB_NONE &&
        job_words_bit(word, job_words_below(job, host, WEFT_JOB_NONE) - 1) != WEFT_JOB_NONE;
    uint32_t device = address != WEFT_JOB_NONE && whole
                          ? job_words_bit(word, job_words_below(job, host, address))
                          : WEFT_JOB_NONE;
    return device < host->kind->ngpus ? device : WEFT_JOB_NONE;
}

static uint32_t job_words_participant(const weft_job_kind_t *kind, uint32_t unit)
{
    const uint32_t *units = weft_job_kind_units(kind);
    uint32_t at = 0;
    while (at < kind->nparticipants && units[at] != unit) {
        at++;
    }
    return at < kind->nparticipants && unit != WEFT_JOB_NONE ? at : WEFT_JOB_NONE;
}

static void job_words_place(weft_job_t *job, const job_words_host_t *host,
                            const weft_job_word_t *word)
{
    const weft_job_kind_t *kind = host->kind;
    for (uint32_t i = 0; i < host->count; i++) {
        uint32_t rank = host->ranks[i], participant;
        if (kind->imagined && kind->nparticipants > 0) {
            participant = (uint32_t)((uint64_t)i * kind->nparticipants / host->count);
            job->device[rank] = kind->gpus ? weft_job_kind_units(kind)[participant] : WEFT_JOB_NONE;
        } else {
            job->device[rank] = job_words_device(job, host, word, rank);
            participant =
                job_words_participant(kind, kind->gpus ? job->device[rank] : job->ranks[rank].node);
        }
        job->participant[rank] = participant;
    }
}

weft_status_t weft_job_find_devices(weft_job_t *job, const weft_job_word_t *words)
{
    uint32_t *next = weft_os_alloc(((size_t)job->nhosts + 1 + job->nranks) * sizeof *next, 0);
    if (next == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for the devices of %u ranks",
                         job->nranks);
    }
    uint32_t *ranks = next + job->nhosts + 1;
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        next[job->host[rank] + 1]++;
        job->device[rank] = job->participant[rank] = WEFT_JOB_NONE;
    }
    for (uint32_t host = 0; host < job->nhosts; host++) {
        next[host + 1] += next[host];
    }
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        ranks[next[job->host[rank]]++] = rank;
    }
    for (uint32_t host = 0, first = 0; host < job->nhosts; first = next[host++]) {
        if (job->kind[host] != WEFT_JOB_NONE) {
            const job_words_host_t all = {.kind = job->kinds[job->kind[host]],
                                          .ranks = ranks + first,
                                          .count = next[host] - first};
            job_words_place(job, &all, &words[job->first[host]]);
        }
    }
    weft_os_free(next);
    return WEFT_OK;
}
