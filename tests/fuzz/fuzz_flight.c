/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flight records of two ranks of two hosts, with communicators and entries of any bytes: whatever
 * they hold, they are joined, told and drawn. */
#include "fuzz.h"
#include "tools/flight_plot.h"
#include "tools/flight_story.h"

#include "core/os/os.h"

#define HEAD offsetof(weft_flight_comm_t, entry)

static size_t fill(void *to, size_t want, const uint8_t *data, size_t bytes)
{
    size_t got = want < bytes ? want : bytes;
    if (got > 0) {
        memcpy(to, data, got);
    }
    return got;
}

/* The first quarter is the communicators' heads, the rest their entries, in turns. */
static void fill_record(weft_flight_record_t *record, const uint8_t *data, size_t bytes)
{
    size_t used = 0;
    record->header = (weft_flight_header_t){.header_bytes = sizeof record->header,
                                            .comm_bytes = sizeof record->comm[0],
                                            .entry_bytes = sizeof record->comm[0].entry[0],
                                            .comms = WEFT_FLIGHT_COMMS,
                                            .entries = WEFT_FLIGHT_ENTRIES};
    memcpy(record->header.magic, WEFT_FLIGHT_MAGIC, sizeof record->header.magic);
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

static void tell(const flight_jobs_t *jobs)
{
    FILE *out = fopen("/dev/null", "w");
    FUZZ_NEED(out != NULL);
    for (uint32_t i = 0; i < jobs->count; i++) {
        flight_story(&jobs->job[i], i, out);
        flight_put_svg(&jobs->job[i], out);
    }
    flight_put_json(jobs, out);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static weft_flight_record_t record;
    flight_source_t pair[2] = {{.name = "a", .alive = true}, {.name = "b"}};
    const char *why;
    for (uint32_t i = 0; i < 2; i++) {
        memset(&record, 0, sizeof record);
        fill_record(&record, data + i * (bytes / 2), bytes / 2);
        pair[i].record = flight_parse(&record, sizeof record, &why);
        FUZZ_NEED(pair[i].record != NULL);
    }
    FUZZ_NEED(flight_parse(data, bytes, &why) == NULL || bytes == sizeof record);
    flight_jobs_t jobs = flight_jobs_make(&(flight_sources_t){.source = pair, .count = 2});
    tell(&jobs);
    flight_jobs_free(&jobs);
    weft_os_free(pair[0].record);
    weft_os_free(pair[1].record);
    return 0;
}
