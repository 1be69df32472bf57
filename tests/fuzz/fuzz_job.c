/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A job of up to twelve ranks made of what they told: places, words, and descriptions of hosts.
 * Lengths of descriptions are right, and orders of channels where the input wants it, so that what
 * lies behind is reached. What is taken as a description lies in its bytes, and every rank has a
 * place of its own in each ring and chain. */
#include "core/base/error.h"
#include "core/os/os.h"
#include "core/plan/topo_view.h"
#include "core/topo/job_orders.h"
#include "core/topo/job_words.h"
#include "fuzz.h"

#define RANKS 12u
#define MACHINES 4u

/* Counts that go beyond what is allowed, by a little or by far. */
static uint32_t take_count(const uint8_t **data, size_t *bytes, uint32_t most)
{
    uint8_t byte = fuzz_byte(data, bytes);
    return byte == 255 ? UINT32_MAX : byte % (most + 2);
}

/* A number, or none. */
static uint32_t take_number(const uint8_t **data, size_t *bytes)
{
    uint8_t byte = fuzz_byte(data, bytes);
    return byte == 255 ? WEFT_JOB_NONE : byte;
}

static weft_job_graph_t take_graph(const uint8_t **data, size_t *bytes)
{
    return (weft_job_graph_t){.nchannels = take_count(data, bytes, WEFT_JOB_CHANNELS_MAX),
                              .speed = fuzz_byte(data, bytes) * 100u};
}

/* Where a description with this head ends. */
static size_t end_of(const weft_job_kind_t *head)
{
    const uint8_t *end = weft_job_kind_tree(head, head->trees.nchannels);
    return ((size_t)(end - (const uint8_t *)head) + 3) / 4 * 4;
}

static void put_order_right(uint8_t *channel, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        channel[2 + i] = (uint8_t)((i + channel[0]) % n);
    }
}

static void put_right(weft_job_kind_t *kind)
{
    for (uint32_t i = 0; i < kind->ndevices - kind->ngpus; i++) {
        ((char *)weft_job_kind_nic(kind, i))[WEFT_JOB_NIC_BYTES - 1] = '\0';
    }
    for (uint32_t c = 0; c < kind->rings.nchannels; c++) {
        put_order_right((uint8_t *)weft_job_kind_ring(kind, c), kind->nparticipants);
    }
    for (uint32_t c = 0; c < kind->trees.nchannels; c++) {
        put_order_right((uint8_t *)weft_job_kind_tree(kind, c), kind->nparticipants);
    }
    uint32_t *units = (uint32_t *)weft_job_kind_units(kind);
    for (uint32_t i = 0; i < kind->nparticipants; i++) {
        units[i] %= kind->ngpus > 0 ? kind->ngpus : 64;
    }
}

/* Bytes that a rank says are a description. NULL: its length is not that of any. */
static weft_job_kind_t *take_kind(const uint8_t **data, size_t *bytes)
{
    weft_job_kind_t head = {.nodes = fuzz_byte(data, bytes),
                            .ngpus = take_count(data, bytes, 16),
                            .ndevices = take_count(data, bytes, 24),
                            .nparticipants = take_count(data, bytes, 16),
                            .gpus = fuzz_byte(data, bytes) % 3,
                            .imagined = fuzz_byte(data, bytes) % 3,
                            .rings = take_graph(data, bytes),
                            .trees = take_graph(data, bytes)};
    uint8_t how = fuzz_byte(data, bytes);
    bool small = head.ngpus <= head.ndevices && head.ndevices <= 64 && head.nparticipants <= 64 &&
                 head.rings.nchannels <= 32 && head.trees.nchannels <= 32;
    size_t length = small ? end_of(&head) : sizeof head;
    weft_job_kind_t *kind = weft_os_alloc(length, 0);
    FUZZ_NEED(kind != NULL);
    head.bytes = (uint32_t)length - (how == 7);
    fuzz_take(data, bytes, kind + 1, length - sizeof head);
    *kind = head;
    if (small && how % 4 != 0) {
        put_right(kind);
    }
    if (weft_job_kind_check(kind, length) != WEFT_OK) {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
        weft_os_free(kind);
        return NULL;
    }
    FUZZ_NEED(small && end_of(kind) == length && weft_job_kind_hash(kind) != 0);
    return kind;
}

static weft_status_t open_job(weft_job_t *job, const uint8_t **data, size_t *bytes)
{
    uint32_t n = 1 + fuzz_byte(data, bytes) % RANKS, machine[RANKS];
    weft_job_rank_t *ranks = weft_os_alloc(n * sizeof *ranks, 0);
    FUZZ_NEED(ranks != NULL);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t place = fuzz_byte(data, bytes);
        machine[i] = place % MACHINES;
        ranks[i] = (weft_job_rank_t){.space = place >> 6,
                                     .node = take_number(data, bytes),
                                     .gpu = take_number(data, bytes),
                                     .cpus = fuzz_byte(data, bytes),
                                     .imagines = place >> 3 & 1,
                                     .bound = place >> 4 & 3};
    }
    return weft_job_init(job, ranks, machine, n, MACHINES);
}

/* Returns whether all kinds are described. */
static bool take_words(weft_job_t *job, weft_job_word_t words[RANKS], const uint8_t **data,
                       size_t *bytes)
{
    bool whole = true;
    for (uint32_t i = 0; i < job->nranks; i++) {
        uint8_t low = fuzz_byte(data, bytes);
        words[i] = (weft_job_word_t){.kind = fuzz_byte(data, bytes) % 4,
                                     .gpus = {low, low == 255 ? UINT64_MAX : 0}};
    }
    FUZZ_NEED(weft_job_take_words(job, words) == WEFT_OK);
    for (uint32_t kind = 0; whole && kind < job->nkinds; kind++) {
        FUZZ_NEED(weft_job_kind_rank(job, kind) < job->nranks);
        job->kinds[kind] = take_kind(data, bytes);
        whole = job->kinds[kind] != NULL;
    }
    return whole;
}

static void check_devices(const weft_job_t *job)
{
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        uint32_t number = job->kind[job->host[rank]], device = job->device[rank];
        const weft_job_kind_t *kind = number != WEFT_JOB_NONE ? job->kinds[number] : NULL;
        FUZZ_NEED(device == WEFT_JOB_NONE || (kind != NULL && device < kind->ngpus));
        FUZZ_NEED(job->participant[rank] == WEFT_JOB_NONE ||
                  (kind != NULL && job->participant[rank] < kind->nparticipants));
    }
}

/* Each rank once. */
static void check_order(const uint32_t *position, uint32_t n)
{
    uint32_t seen = 0;
    for (uint32_t rank = 0; rank < n; rank++) {
        FUZZ_NEED(position[rank] < n && (seen >> position[rank] & 1) == 0);
        seen |= 1u << position[rank];
    }
}

static void check_orders(const weft_job_t *job)
{
    for (uint32_t i = 0; i < job->topo.nrings; i++) {
        check_order(job->ring[i], job->nranks);
    }
    for (uint32_t i = 0; i < job->topo.nchains; i++) {
        check_order(job->chain[i], job->nranks);
    }
    for (uint32_t rank = 0; job->topo.nrings + job->topo.nchains > 0 && rank < job->nranks;
         rank++) {
        for (uint32_t way = 0; way < 4; way++) {
            const char *nic = weft_job_nic(job, rank, (way & 1) != 0, rank, (way & 2) != 0);
            FUZZ_NEED(nic == NULL || strlen(nic) < WEFT_JOB_NIC_BYTES);
        }
    }
}

static void make(weft_job_t *job, const weft_job_word_t words[RANKS])
{
    static const char *const names[RANKS] = {"a", "b", "c", "d", "e", "f",
                                             "g", "h", "i", "j", "k", "l"};
    weft_topo_view_t view;
    FUZZ_NEED(weft_job_find_devices(job, words) == WEFT_OK);
    check_devices(job);
    FUZZ_NEED(weft_job_make_levels(job, NULL, names) == WEFT_OK);
    FUZZ_NEED(weft_topo_view_init(&view, &job->topo, NULL, job->nranks) == WEFT_OK);
    FUZZ_NEED(weft_job_make_orders(job, &view.topo) == WEFT_OK);
    check_orders(job);
    for (uint32_t rank = 0; rank < job->nranks; rank++) {
        (void)weft_algo_topo_path(&job->topo, 0, rank);
    }
    FUZZ_NEED(weft_job_bytes(job) > 0);
    weft_topo_view_fini(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    weft_job_t job;
    weft_job_word_t words[RANKS];
    if (open_job(&job, &data, &bytes) == WEFT_OK) {
        FUZZ_NEED(job.nhosts >= 1 && job.nhosts <= job.nranks && job.cores > 0);
        if (weft_job_needs_kinds(&job) && take_words(&job, words, &data, &bytes)) {
            make(&job, words);
        }
    } else {
        FUZZ_NEED(weft_error_record()->text[0] != '\0');
    }
    weft_job_fini(&job);
    return 0;
}
