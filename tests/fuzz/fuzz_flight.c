/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records of two ranks, with communicators and entries of any bytes: whatever they hold,
 * they are joined, told and drawn. Behind the byte "!" the input is a file; behind "#" it is a list
 * of what the ranks noted, a few bytes an entry, so that the records have to do with each other. */
#include "core/os/os.h"
#include "fuzz.h"
#include "tools/flight_plot.h"
#include "tools/flight_story.h"

#define HEAD offsetof(weft_flight_comm_t, entry)
#define NOTES_MOST 400
#define COMM UINT64_C(0x77656674)

static weft_flight_record_t records[2];

static size_t fill(void *to, size_t want, const uint8_t *data, size_t bytes)
{
    size_t got = want < bytes ? want : bytes;
    if (got > 0) {
        memcpy(to, data, got);
    }
    return got;
}

static void fill_header(weft_flight_record_t *record)
{
    record->header = (weft_flight_header_t){.header_bytes = sizeof record->header,
                                            .comm_bytes = sizeof record->comm[0],
                                            .entry_bytes = sizeof record->comm[0].entry[0],
                                            .comms = WEFT_FLIGHT_COMMS,
                                            .entries = WEFT_FLIGHT_ENTRIES};
    memcpy(record->header.magic, WEFT_FLIGHT_MAGIC, sizeof record->header.magic);
}

/* The first quarter is the communicators' heads, the rest their entries, in turns. */
static void fill_record(weft_flight_record_t *record, const uint8_t *data, size_t bytes)
{
    size_t used = 0;
    fill_header(record);
    used += fill(&record->header.pid, sizeof record->header - offsetof(weft_flight_header_t, pid),
                 data, bytes);
    for (uint32_t i = 0; i < 2; i++) {
        used += fill(&record->comm[i], HEAD, data + used, bytes - used);
    }
    for (uint32_t k = 0; k < 2 * WEFT_FLIGHT_ENTRIES && used < bytes; k++) {
        used += fill(&record->comm[k % 2].entry[k / 2], sizeof(weft_flight_entry_t), data + used,
                     bytes - used);
    }
}

/* What is known of the two ranks, and whether they are of one host and have ended. */
static void begin_notes(const uint8_t **data, size_t *bytes)
{
    uint8_t hosts = fuzz_byte(data, bytes), nranks = fuzz_byte(data, bytes);
    for (uint32_t r = 0; r < 2; r++) {
        weft_flight_comm_t *comm = &records[r].comm[0];
        fill_header(&records[r]);
        records[r].header.host_id[0] = (uint8_t)((hosts & 1) != 0 ? r : 0);
        records[r].header.began_wall = (hosts & 2) != 0 ? (uint64_t)(1 + r) << 40 : 0;
        records[r].header.pid = (hosts & 4) != 0 ? getpid() : 0;
        if ((hosts & 8) != 0) {
            weft_os_host_id(records[r].header.host_id);
        }
        comm->life = WEFT_FLIGHT_OPEN;
        comm->rank = r;
        comm->nranks = 2 + nranks % 32;
        comm->id = COMM;
        comm->opened = 1000 + r;
        comm->culprit = -1;
    }
}

static void note_call(weft_flight_comm_t *comm, const uint8_t **data, size_t *bytes)
{
    weft_flight_entry_t *entry = &comm->entry[comm->next % WEFT_FLIGHT_ENTRIES];
    uint8_t what = fuzz_byte(data, bytes), how = fuzz_byte(data, bytes);
    uint8_t when = fuzz_byte(data, bytes), took = fuzz_byte(data, bytes);
    *entry = (weft_flight_entry_t){.number = ++comm->next,
                                   .count = how & 3,
                                   .called = when == 0 ? 0 : 10000 + (uint64_t)when * 100,
                                   .root = how >> 2 & 1,
                                   .peer = (how >> 3 & 3) - 1,
                                   .status = (how & 32) != 0 ? WEFT_ERR_LINK : WEFT_OK,
                                   .coll = what % (WEFT_COLL_COUNT + 1),
                                   .sends = how >> 6 & 1,
                                   .state = took == 0 ? WEFT_FLIGHT_CALLED : WEFT_FLIGHT_DONE};
    entry->ended = took == 0 ? 0 : entry->called + (uint64_t)took * 10;
    entry->sequence = ++comm->called;
    comm->completed = took == 0 ? comm->completed : comm->called;
}

static void note(weft_flight_comm_t *comm, uint8_t kind, const uint8_t **data, size_t *bytes)
{
    switch (kind) {
    case 0: /* a short operation leaves its signature only */
        comm->called++;
        weft_history_put(&comm->history,
                         &(weft_signature_t){.coll = fuzz_byte(data, bytes) % WEFT_COLL_COUNT,
                                             .count = fuzz_byte(data, bytes),
                                             .sequence = (uint32_t)comm->called});
        comm->completed = comm->called;
        break;
    case 1:
        comm->life = WEFT_FLIGHT_FAILED;
        comm->failed = 20000 + fuzz_byte(data, bytes);
        comm->status = WEFT_ERR_PEER_DEAD;
        fuzz_take(data, bytes, comm->failure, 8);
        break;
    case 2:
        comm->life = WEFT_FLIGHT_CLOSED;
        comm->closed = 30000 + fuzz_byte(data, bytes);
        break;
    case 3: /* a second communicator */
        comm[1] = comm[0];
        comm[1].id = COMM + 1;
        comm[1].opened = fuzz_byte(data, bytes);
        comm[1].rank = fuzz_byte(data, bytes) % 40;
        break;
    default:
        note_call(comm, data, bytes);
    }
}

static void fill_notes(const uint8_t *data, size_t bytes)
{
    begin_notes(&data, &bytes);
    for (int i = 0; i < NOTES_MOST && bytes > 0; i++) {
        uint8_t who = fuzz_byte(&data, &bytes);
        if (who % 3 != 1) {
            note(&records[0].comm[0], who / 3 % 16, &data, &bytes);
        }
        if (who % 3 != 2) {
            note(&records[1].comm[0], who / 3 % 16, &data, &bytes);
        }
    }
}

static void tell(const flight_jobs_t *jobs)
{
    FILE *out = fopen("/dev/null", "w");
    FUZZ_NEED(out != NULL);
    for (uint32_t i = 0; i < jobs->count; i++) {
        FUZZ_NEED(jobs->job[i].found > 0);
        flight_story(&jobs->job[i], i, out);
        flight_story(&jobs->job[i], flight_now(&jobs->job[i]), out);
        flight_put_svg(&jobs->job[i], flight_now(&jobs->job[i]), out);
    }
    flight_put_json(jobs, NULL, out);
    fclose(out);
}

/* The first record comes from a file. */
static void read_and_tell(void)
{
    flight_sources_t sources = {.count = 0};
    const char *why;
    FUZZ_NEED(flight_read(fuzz_file((const uint8_t *)&records[0], sizeof records[0]), &sources) &&
              sources.count == 1);
    sources.source = realloc(sources.source, 2 * sizeof *sources.source);
    FUZZ_NEED(sources.source != NULL);
    sources.source[sources.count++] = (flight_source_t){
        .name = "b", .record = flight_parse(&records[1], sizeof records[1], &why)};
    FUZZ_NEED(sources.source[1].record != NULL);
    flight_jobs_t jobs = flight_jobs_make(&sources);
    tell(&jobs);
    flight_jobs_free(&jobs);
    flight_free(&sources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *why;
    flight_copy_t *copy = flight_parse(data, bytes, &why);
    FUZZ_NEED(copy == NULL || bytes == sizeof records[0]);
    weft_os_free(copy);
    memset(records, 0, sizeof records);
    if (bytes > 0 && data[0] == '!') {
        flight_sources_t sources = {.count = 0};
        bool good = flight_read(fuzz_file(data + 1, bytes - 1), &sources);
        FUZZ_NEED(good == (sources.count == 1));
        flight_free(&sources);
        return 0;
    }
    if (bytes > 0 && data[0] == '#') {
        fill_notes(data + 1, bytes - 1);
    } else {
        for (uint32_t i = 0; i < 2; i++) {
            fill_record(&records[i], data + i * (bytes / 2), bytes / 2);
        }
    }
    read_and_tell();
    return 0;
}
