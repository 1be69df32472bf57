/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `weft trace`: joins flight records and says what happened. `weft status`: the same for all jobs
 * of this host, in a line a rank. */
#include "tools/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tools/args.h"
#include "tools/flight_plot.h"
#include "tools/flight_story.h"
#include "tools/json.h"
#include "tools/tool.h"
#include "tools/whole_file.h"

static const tool_option_t trace_options[] = {
    {0, "json", "FILE", "write a trace for Perfetto or chrome://tracing; - for stdout",
     TOOL_OPT_JSON},
    {0, "svg", "FILE", "draw the communicator with most ranks; - for stdout", 's'},
    {'h', "help", NULL, "this text", TOOL_OPT_HELP},
    {0, NULL, NULL, NULL, 0},
};

static const tool_option_t status_options[] = {
    {0, "json", NULL, "print JSON", TOOL_OPT_JSON},
    {'h', "help", NULL, "this text", TOOL_OPT_HELP},
    {0, NULL, NULL, NULL, 0},
};

/* Writing -------------------------------------------------------------------------------------- */

static uint32_t trace_largest(const flight_jobs_t *jobs)
{
    uint32_t largest = 0;
    for (uint32_t i = 1; i < jobs->count; i++) {
        largest = jobs->job[i].found > jobs->job[largest].found ? i : largest;
    }
    return largest;
}

static int trace_write(const flight_jobs_t *jobs, const uint64_t *now, const char *json,
                       const char *svg)
{
    const uint32_t largest = trace_largest(jobs);
    for (uint32_t i = 0; i < 2; i++) {
        const char *path = i == 0 ? json : svg;
        whole_file_t file;
        weft_status_t status = path != NULL ? whole_file_open(&file, path) : WEFT_OK;
        if (path != NULL && status == WEFT_OK) {
            if (i == 0) {
                flight_put_json(jobs, now, file.out);
            } else {
                flight_put_svg(&jobs->job[largest], now[largest], file.out);
            }
            status = whole_file_close(&file);
        }
        if (status != WEFT_OK) {
            return tool_report(status);
        }
    }
    return TOOL_OK;
}

/* Whether the record is of a rank that waits to join a job like that of the other record, or has
 * just joined it. */
static bool trace_joins_like(const flight_source_t *source, const flight_source_t *like)
{
    const weft_flight_header_t *header = &source->record->header;
    return header->nranks == like->record->header.nranks && source->uid == like->uid &&
           (header->joined == 0 || (source->alive && like->alive));
}

/* Which ranks of a job that joins have no record. Of jobs of the same size that join at the same
 * time those are named that have none in any. */
static void trace_put_missing(const flight_sources_t *sources, const flight_source_t *like,
                              FILE *out)
{
    enum { LISTED = 16 };
    const uint32_t nranks = like->record->header.nranks;
    uint32_t missing = 0;
    for (uint32_t r = 0; r < nranks; r++) {
        bool found = false;
        for (uint32_t i = 0; i < sources->count && !found; i++) {
            found = sources->source[i].record->header.rank == r &&
                    trace_joins_like(&sources->source[i], like);
        }
        if (!found && missing++ < LISTED) {
            fprintf(out, "%s%u", missing == 1 ? "no record of a rank that joins: " : ", ", r);
        }
    }
    if (missing > LISTED) {
        fprintf(out, " and %u more", missing - LISTED);
    }
    if (missing > 0) {
        fprintf(out, " of %u; on another host, or not started\n", nranks);
    }
}

/* Processes that have not joined yet, or never have, by jobs. */
static void trace_put_joining(const flight_sources_t *sources, FILE *out)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        const flight_source_t *source = &sources->source[i];
        const weft_flight_header_t *header = &source->record->header;
        bool more = false;
        if (header->joined != 0) {
            continue;
        }
        fprintf(out, "rank %u of %u, process %d on %s: %s\n", header->rank, header->nranks,
                source->pid, header->host,
                source->alive ? "is joining" : "ended before it had joined");
        for (uint32_t k = i + 1; k < sources->count && !more; k++) {
            more = sources->source[k].record->header.joined == 0 &&
                   trace_joins_like(&sources->source[k], source);
        }
        if (!more) { /* the last one of its job */
            trace_put_missing(sources, source, out);
        }
    }
}

static void trace_put_full(const flight_sources_t *sources)
{
    if (sources->full) {
        fprintf(stderr,
                "weft: there are more than %u records, or more than %u of one process; the rest is "
                "left out\n",
                FLIGHT_SOURCES_MAX, FLIGHT_PROCESS_MAX);
    }
}

static int trace_report(const flight_sources_t *sources, const char *json, const char *svg)
{
    flight_jobs_t jobs = flight_jobs_make(sources);
    bool to_stdout =
        (json != NULL && strcmp(json, "-") == 0) || (svg != NULL && strcmp(svg, "-") == 0);
    uint64_t *now = calloc(jobs.count + 1, sizeof *now);
    bool alive = false;
    int code = TOOL_OK;
    if (now == NULL) {
        flight_jobs_free(&jobs);
        return tool_report(
            weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %u jobs", jobs.count));
    }
    for (uint32_t i = 0; i < sources->count; i++) {
        alive = alive || sources->source[i].alive;
    }
    for (uint32_t i = 0; i < jobs.count && alive; i++) {
        now[i] = flight_now(&jobs.job[i]);
    }
    if (!to_stdout) {
        trace_put_joining(sources, stdout);
        for (uint32_t i = 0; i < jobs.count; i++) {
            flight_story(&jobs.job[i], now[i], stdout);
        }
    }
    if (jobs.count > 0) {
        code = trace_write(&jobs, now, json, svg);
    } else if (json != NULL || svg != NULL) {
        code = tool_usage("the records have no communicator to draw");
    }
    trace_put_full(sources);
    free(now);
    flight_jobs_free(&jobs);
    return code;
}

static int trace_help(void)
{
    printf("usage: weft trace [PID | FILE | FOLDER]…\n\n"
           "Joins the flight records of processes of this host, and of files that [core] flight "
           "leaves, on\none clock, and says who died, who is late, who called something else and "
           "who waits for whom.\n\n");
    tool_options_print(trace_options, stdout);
    return TOOL_OK;
}

typedef struct trace_request {
    const char *json, *svg;
    bool named, help;
    flight_sources_t sources;
} trace_request_t;

static bool trace_parse(int argc, char **argv, trace_request_t *request)
{
    tool_args_t args = {.options = trace_options, .argc = argc, .argv = argv, .at = 1};
    bool good = true;
    for (int found; good && (found = tool_args_next(&args)) != TOOL_ARGS_END;) {
        switch (found) {
        case TOOL_ARGS_OPERAND:
            request->named = true;
            good = flight_read(args.value, &request->sources);
            break;
        case TOOL_OPT_JSON:
            request->json = args.value;
            break;
        case 's':
            request->svg = args.value;
            break;
        case TOOL_OPT_HELP:
            request->help = true;
            return true;
        default:
            good = false;
        }
    }
    return good;
}

int tool_trace(int argc, char **argv)
{
    trace_request_t request = {.json = NULL};
    bool good = trace_parse(argc, argv, &request);
    if (good && !request.named && !request.help) {
        good = flight_read_all(&request.sources) &&
               (request.sources.count > 0 ||
                tool_usage("no process here has a flight record that may be read; name a process, "
                           "a file, or the folder of [core] flight") == TOOL_OK);
    }
    int code = !good          ? TOOL_USAGE
               : request.help ? trace_help()
                              : trace_report(&request.sources, request.json, request.svg);
    flight_free(&request.sources);
    return code;
}

/* weft status ---------------------------------------------------------------------------------- */

/* Finds what the rank is inside: its oldest open operation; or what it called last. False: it has
 * called nothing. */
static bool status_find(const weft_flight_comm_t *comm, weft_flight_entry_t *found)
{
    const weft_flight_entry_t *oldest = NULL;
    for (uint32_t i = 0; i < WEFT_FLIGHT_PLACES; i++) {
        const weft_flight_entry_t *entry = &comm->entry[i];
        if (flight_is_open(entry) && (oldest == NULL || entry->number < oldest->number)) {
            oldest = entry;
        }
    }
    if (oldest != NULL) {
        *found = *oldest;
        return true;
    }
    return flight_find(comm, comm->completed + 1, found) || flight_find(comm, comm->called, found);
}

/* What is printed of a rank. */
typedef struct status_row {
    const char *state;
    uint64_t operation;
    int32_t peer;
    char what[160], waited[32];
} status_row_t;

static status_row_t status_row(const flight_rank_t *rank, uint64_t now)
{
    weft_flight_entry_t entry = {.peer = -1};
    bool found = status_find(rank->comm, &entry), open = found && flight_is_open(&entry);
    bool failed = rank->comm->life == WEFT_FLIGHT_FAILED && !(open && flight_is_vote(&entry));
    status_row_t row = {.state = failed ? "failed"
                                 : open ? "inside"
                                        : "outside",
                        .operation = entry.sequence,
                        .peer = open ? entry.peer : -1};
    if (found) {
        flight_text(&entry, row.what, sizeof row.what);
    }
    if (open && entry.called != 0 && now > flight_at(rank, entry.called)) {
        snprintf(row.waited, sizeof row.waited, "%.1f s",
                 (double)(now - flight_at(rank, entry.called)) / 1e9);
    }
    return row;
}

static void status_put_row(const flight_rank_t *rank, uint64_t now)
{
    status_row_t row = status_row(rank, now);
    char peer[64] = "";
    if (rank->source->stopped) {
        snprintf(peer, sizeof peer, "- (stopped by a signal, or in a debugger)");
    } else if (row.peer >= 0) {
        snprintf(peer, sizeof peer, "rank %d", row.peer);
    }
    printf("%6u %9d  %-8s %10" PRIu64 "  %-36s %9s  %s\n", rank->comm->rank, rank->source->pid,
           rank->source->alive ? row.state : "ended", row.operation, row.what, row.waited, peer);
}

static void status_put_table(const flight_jobs_t *jobs)
{
    for (uint32_t i = 0; i < jobs->count; i++) {
        const flight_job_t *job = &jobs->job[i];
        uint64_t now = flight_now(job);
        uint32_t open = 0, here = 0;
        for (uint32_t k = 0; k < job->found; k++) {
            open += job->rank[k].comm->closed == 0 ? 1 : 0;
            here += job->rank[k].comm->closed == 0 && job->rank[k].source->alive ? 1 : 0;
        }
        if (open == 0) {
            continue;
        }
        printf("# communicator %s (%016" PRIx64 ")", flight_name(job, &job->rank[0]), job->id);
        if (job->uid != getuid()) {
            printf(" of user %u", job->uid);
        }
        printf(", %u of %u rank%s here\n", here, job->nranks, job->nranks == 1 ? " is" : "s are");
        printf("# %4s %9s  %-8s %10s  %-36s %9s  %s\n", "rank", "process", "state", "operation",
               "what", "for", "waits for");
        for (uint32_t k = 0; k < job->found; k++) {
            if (job->rank[k].comm->closed == 0) {
                status_put_row(&job->rank[k], now);
            }
        }
    }
}

static void status_put_object(json_t *json, const flight_job_t *job, const flight_rank_t *rank)
{
    status_row_t row = status_row(rank, flight_now(job));
    char id[32];
    snprintf(id, sizeof id, "%016" PRIx64, job->id);
    json_open(json, NULL, '{');
    json_string(json, "communicator", id);
    json_string(json, "name", flight_name(job, rank));
    json_unsigned(json, "nranks", job->nranks);
    json_unsigned(json, "rank", rank->comm->rank);
    json_integer(json, "pid", rank->source->pid);
    json_unsigned(json, "uid", rank->source->uid);
    json_string(json, "state", rank->source->alive ? row.state : "ended");
    json_unsigned(json, "operation", row.operation);
    json_string(json, "what", row.what);
    json_integer(json, "waits_for", row.peer);
    json_bool(json, "stopped", rank->source->stopped);
    json_close(json, '}');
}

static void status_put_json(const flight_jobs_t *jobs)
{
    json_t json = {.out = stdout, .first = true};
    json_open(&json, NULL, '[');
    for (uint32_t i = 0; i < jobs->count; i++) {
        const flight_job_t *job = &jobs->job[i];
        for (uint32_t k = 0; k < job->found; k++) {
            if (job->rank[k].comm->closed == 0) {
                status_put_object(&json, job, &job->rank[k]);
            }
        }
    }
    json_close(&json, ']');
    printf("\n");
}

static int status_report(bool as_json)
{
    flight_sources_t sources = {.count = 0};
    if (!flight_read_all(&sources)) {
        return TOOL_USAGE; /* no list is not an empty one */
    }
    flight_jobs_t jobs = flight_jobs_make(&sources);
    if (as_json) {
        status_put_json(&jobs);
    } else {
        trace_put_joining(&sources, stdout);
        status_put_table(&jobs);
    }
    trace_put_full(&sources);
    if (sources.count == 0) {
        fprintf(stderr, "weft: no process here runs a communicator that may be looked at%s\n",
                getuid() != 0 ? "; those of other users are shown to root only" : "");
    }
    flight_jobs_free(&jobs);
    flight_free(&sources);
    return TOOL_OK;
}

static int status_help(void)
{
    printf("usage: weft status [--json]\n\n"
           "The communicators of this host's processes, a line a rank: the operation that it is "
           "inside, or\nthat it called last, for how long, and the rank it waits for. Processes of "
           "other users are shown to\nroot.\n\n");
    tool_options_print(status_options, stdout);
    return TOOL_OK;
}

int tool_status(int argc, char **argv)
{
    bool as_json = false;
    tool_args_t args = {.options = status_options, .argc = argc, .argv = argv, .at = 1};
    for (int found; (found = tool_args_next(&args)) != TOOL_ARGS_END;) {
        switch (found) {
        case TOOL_OPT_JSON:
            as_json = true;
            break;
        case TOOL_OPT_HELP:
            return status_help();
        case TOOL_ARGS_OPERAND:
            return tool_usage("weft status takes no name, got '%s'; weft trace takes processes",
                              args.value);
        default:
            return TOOL_USAGE;
        }
    }
    return status_report(as_json);
}
