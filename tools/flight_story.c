/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The story of a communicator. */
#include "tools/flight_story.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/plural.h"
#include "core/os/os.h"
#include "tools/tool.h"

#define LISTED 16u /* ranks of a list */
/* Longer than an operation without an entry takes, on ranks that are slower, too. */
#define LONG_WAIT (4 * WEFT_RECORD_WAIT)

typedef bool (*story_choice_t)(const flight_rank_t *rank, const void *with);

/* Prints "rank 3" or "ranks 0, 1, 4 and 12 more". Returns how many were chosen. */
static uint32_t story_put_ranks(const flight_job_t *job, story_choice_t choice, const void *with,
                                FILE *out)
{
    uint32_t count = 0, listed = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        count += choice(&job->rank[i], with) ? 1 : 0;
    }
    fprintf(out, count == 1 ? "rank" : "ranks");
    for (uint32_t i = 0; i < job->found && listed < LISTED; i++) {
        if (choice(&job->rank[i], with)) {
            fprintf(out, "%s %u", listed++ > 0 ? "," : "", job->rank[i].comm->rank);
        }
    }
    if (count > listed) {
        fprintf(out, " and %u more", count - listed);
    }
    return count;
}

/* The same, with the process of the one whom to look at: the numbers of ranks are those of this
 * communicator only. */
static void story_put_culprits(const flight_job_t *job, story_choice_t choice, const void *with,
                               FILE *out)
{
    if (story_put_ranks(job, choice, with, out) != 1) {
        return;
    }
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_source_t *source = job->rank[i].source;
        if (choice(&job->rank[i], with)) {
            fprintf(out, " (process %d on %s)", source->pid, source->record->header.host);
        }
    }
}

static uint32_t story_count(const flight_job_t *job, story_choice_t choice, const void *with)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        count += choice(&job->rank[i], with) ? 1 : 0;
    }
    return count;
}

/* Ranks ---------------------------------------------------------------------------------------- */

static void story_put_missing(const flight_job_t *job, FILE *out)
{
    uint32_t next = 0, listed = 0;
    if (job->found >= job->nranks) {
        return;
    }
    fprintf(out, "  no record of rank%s", job->nranks - job->found > 1 ? "s" : "");
    for (uint32_t r = 0; r < job->nranks && listed < LISTED; r++) {
        while (next < job->found && job->rank[next].comm->rank < r) {
            next++;
        }
        if (next == job->found || job->rank[next].comm->rank != r) {
            fprintf(out, "%s %u", listed++ > 0 ? "," : "", r);
        }
    }
    if (job->nranks - job->found > listed) {
        fprintf(out, " and %u more", job->nranks - job->found - listed);
    }
    fprintf(out, "\n");
}

static bool story_is_gone(const flight_rank_t *rank, const void *with)
{
    (void)with;
    return !rank->source->alive && rank->comm->closed == 0 && rank->comm->life == WEFT_FLIGHT_OPEN;
}

static void story_put_gone(const flight_job_t *job, FILE *out)
{
    uint32_t gone = story_count(job, story_is_gone, NULL);
    if (gone > 0) {
        fprintf(out, "  ");
        story_put_culprits(job, story_is_gone, NULL, out);
        fprintf(out, " ended without leaving: killed, crashed, or without weft_comm_destroy()\n");
    }
}

static bool story_is_stopped(const flight_rank_t *rank, const void *with)
{
    (void)with;
    return rank->source->stopped && rank->comm->closed == 0;
}

static void story_put_stopped(const flight_job_t *job, FILE *out)
{
    const uint32_t stopped = story_count(job, story_is_stopped, NULL);
    if (stopped > 0) {
        fprintf(out, "  ");
        story_put_culprits(job, story_is_stopped, NULL, out);
        fprintf(out, " %s stopped: by a signal, or in a debugger\n", stopped == 1 ? "is" : "are");
    }
}

/* The first failure on the clock of the job, and how many followed it. */
static void story_put_failure(const flight_job_t *job, FILE *out)
{
    const flight_rank_t *first = NULL;
    uint32_t failed = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        if (rank->comm->failed != 0) {
            failed++;
            first = first == NULL || flight_at(rank, rank->comm->failed) <
                                         flight_at(first, first->comm->failed)
                        ? rank
                        : first;
        }
    }
    if (first != NULL) {
        fprintf(out, "  failed on %u of them, first on rank %u: %s: %s\n", failed,
                first->comm->rank, weft_status_name((weft_status_t)first->comm->status),
                first->comm->failure);
    }
}

/* Operations ----------------------------------------------------------------------------------- */

static bool story_is_behind(const flight_rank_t *rank, const void *with)
{
    return rank->comm->called < *(const uint64_t *)with;
}

static bool story_is_inside(const flight_rank_t *rank, const void *with)
{
    weft_flight_entry_t entry;
    return flight_find(rank->comm, *(const uint64_t *)with, &entry) && flight_is_open(&entry);
}

static bool story_has_failed(const flight_rank_t *rank, const void *with)
{
    weft_flight_entry_t entry;
    return flight_find(rank->comm, *(const uint64_t *)with, &entry) && !flight_is_open(&entry) &&
           entry.status != WEFT_OK;
}

/* Of an operation that did not wait only the number is known: it may be the one that failed. */
static bool story_may_have_failed(const flight_rank_t *rank, const void *with)
{
    weft_flight_entry_t entry;
    return rank->comm->failed != 0 && flight_find(rank->comm, *(const uint64_t *)with, &entry) &&
           entry.called == 0;
}

static bool story_calls_this(const flight_rank_t *rank, const void *with)
{
    const weft_flight_entry_t *this = with;
    weft_flight_entry_t entry;
    return flight_find(rank->comm, this->sequence, &entry) && flight_is_same(&entry, this);
}

/* Says who calls what, if not all call the same. Returns whether that was so. */
static bool story_put_difference(const flight_job_t *job, uint64_t sequence, FILE *out)
{
    weft_flight_entry_t told[LISTED];
    uint32_t count = 0;
    char text[160];
    for (uint32_t i = 0; i < job->found && count < LISTED; i++) {
        bool known = !flight_find(job->rank[i].comm, sequence, &told[count]);
        for (uint32_t k = 0; k < count && !known; k++) {
            known = flight_is_same(&told[k], &told[count]);
        }
        count += known ? 0 : 1;
    }
    for (uint32_t k = 0; k < count && count > 1; k++) {
        flight_text(&told[k], text, sizeof text);
        fprintf(out, k == 0 ? "  operation %" PRIu64 " is not the same everywhere: " : "; ",
                sequence);
        story_put_ranks(job, story_calls_this, &told[k], out);
        fprintf(out, " called %s", text);
    }
    if (count > 1) {
        fprintf(out, "\n");
    }
    return count > 1;
}

/* Older ones than the ring holds are forgotten. */
static void story_put_first_difference(const flight_job_t *job, uint64_t most, FILE *out)
{
    for (uint64_t i = WEFT_FLIGHT_ENTRIES; i-- > 0;) {
        if (most > i && story_put_difference(job, most - i, out)) {
            return;
        }
    }
}

/* Numbers of the last collectives that the ranks have called. */
typedef struct story_calls {
    uint64_t most, least;
    weft_flight_entry_t last; /* the one of number `most` */
} story_calls_t;

static story_calls_t story_calls(const flight_job_t *job)
{
    story_calls_t calls = {.least = UINT64_MAX, .last = {.state = WEFT_FLIGHT_FREE}};
    for (uint32_t i = 0; i < job->found; i++) {
        const weft_flight_comm_t *comm = job->rank[i].comm;
        calls.least = comm->called < calls.least ? comm->called : calls.least;
        if (comm->called > calls.most) {
            calls.most = comm->called;
            flight_find(comm, calls.most, &calls.last);
        }
    }
    return calls;
}

static void story_put_behind(const flight_job_t *job, const story_calls_t *calls, FILE *out)
{
    uint64_t at = calls->least + 1;
    fprintf(out, "  ");
    story_put_ranks(job, story_is_behind, &calls->most, out);
    fprintf(out, " behind: the last call of the slowest is operation %" PRIu64 "\n", calls->least);
    if (story_count(job, story_is_inside, &at) > 0) {
        fprintf(out, "  operation %" PRIu64 " waits for ", at);
        story_put_culprits(job, story_is_behind, &at, out);
        fprintf(out, " to call it\n");
    }
}

/* What the ranks do that have called most. */
static void story_put_last(const flight_job_t *job, FILE *out)
{
    story_calls_t calls = story_calls(job);
    char text[160] = "nothing is known of it";
    if (calls.most == 0) {
        return;
    }
    if (calls.last.state != WEFT_FLIGHT_FREE) {
        flight_text(&calls.last, text, sizeof text);
    }
    fprintf(out, "  last operation: %" PRIu64 ", %s", calls.most, text);
    if (story_count(job, story_is_inside, &calls.most) > 0) {
        fprintf(out, ", open on ");
        story_put_ranks(job, story_is_inside, &calls.most, out);
    } else if (story_count(job, story_has_failed, &calls.most) > 0) {
        fprintf(out, ", failed on ");
        story_put_ranks(job, story_has_failed, &calls.most, out);
    } else if (story_count(job, story_may_have_failed, &calls.most) == 0) {
        fprintf(out, ", over");
    }
    fprintf(out, "\n");
    if (calls.least < calls.most) {
        story_put_behind(job, &calls, out);
    }
    story_put_first_difference(job, calls.most, out);
}

/* One line a rank that is in the middle of something. */
static void story_put_open(const flight_job_t *job, uint64_t now, FILE *out)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        for (uint32_t k = 0; k < WEFT_FLIGHT_PLACES; k++) {
            const weft_flight_entry_t *entry = &rank->comm->entry[k];
            char text[160];
            if (!flight_is_open(entry) || lines++ >= 2 * LISTED) {
                continue;
            }
            flight_text(entry, text, sizeof text);
            fprintf(out, "    rank %u: ", rank->comm->rank);
            if (entry->sequence != 0) {
                fprintf(out, "%s %" PRIu64 ", ", flight_number_name(entry), entry->sequence);
            }
            fprintf(out, "%s", text);
            if (now != 0 && entry->called != 0 && now > flight_at(rank, entry->called)) {
                fprintf(out, ", for %.1f s", (double)(now - flight_at(rank, entry->called)) / 1e9);
            }
            if (entry->peer >= 0) {
                fprintf(out, ", waits for rank %d", entry->peer);
            }
            fprintf(out, "\n");
        }
    }
    if (lines > 2 * LISTED) {
        fprintf(out, "    … and %u more open operation%s\n", lines - 2 * LISTED,
                weft_plural(lines - 2 * LISTED));
    }
}

/* Who comes late ------------------------------------------------------------------------------- */

static int story_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Whether an entry for that collective would still be there: an older one is, or none has been
 * overwritten. */
static bool story_remembers(const weft_flight_comm_t *comm, uint64_t sequence)
{
    for (uint32_t i = 0; i < WEFT_FLIGHT_ENTRIES; i++) {
        const weft_flight_entry_t *entry = &comm->entry[i];
        if (entry->state != WEFT_FLIGHT_FREE && entry->coll != WEFT_SEND_RECV &&
            entry->sequence < sequence) {
            return true;
        }
    }
    return comm->next <= WEFT_FLIGHT_ENTRIES;
}

/* What is known of the calls of one collective. */
typedef struct story_arrivals {
    const flight_rank_t *last;    /* of those whose times are known */
    const flight_rank_t *untimed; /* the one that called it and did not wait */
    uint64_t most, second;        /* the last call, and the one before it */
    uint64_t ended;               /* the first end */
} story_arrivals_t;

static void story_take_arrival(const flight_rank_t *rank, const weft_flight_entry_t *entry,
                               story_arrivals_t *all)
{
    const uint64_t called = flight_at(rank, entry->called), ended = flight_at(rank, entry->ended);
    if (called >= all->most) {
        all->second = all->most;
        all->most = called;
        all->last = rank;
    } else if (called > all->second) {
        all->second = called;
    }
    all->ended = ended < all->ended ? ended : all->ended;
}

/* Whether a rank that called at that moment, so much after the others, was in the collective before
 * until then: it is late because that one ended late for it, as behind a slow link. Of one in which
 * the others do not wait nothing is said: the rank may have called that one late, too. */
static bool story_was_held(const flight_rank_t *rank, uint64_t sequence, uint64_t called,
                           uint64_t late)
{
    weft_flight_entry_t before;
    return flight_find(rank->comm, sequence - 1, &before) && flight_waits_for_all(&before) &&
           before.ended != 0 && called - flight_at(rank, before.ended) < late / 2;
}

/* Who called a collective last. */
typedef struct story_last {
    const flight_rank_t *rank; /* NULL: it is not known */
    uint64_t late;             /* after the one before it, in ns */
    bool held;
} story_last_t;

/* A rank for which all others wait hardly waits itself, so that it has no entry: it came when the
 * first of them went on. Where they did not wait for long it may just be the fastest of all. */
static story_last_t story_last_to_call(const flight_job_t *job, uint64_t sequence)
{
    const story_last_t none = {.rank = NULL};
    story_arrivals_t all = {.ended = UINT64_MAX};
    for (uint32_t i = 0; i < job->found; i++) {
        const flight_rank_t *rank = &job->rank[i];
        weft_flight_entry_t entry;
        if (!flight_find(rank->comm, sequence, &entry)) {
            return none;
        }
        if (entry.called != 0) {
            story_take_arrival(rank, &entry, &all);
        } else if (all.untimed == NULL && !flight_is_open(&entry) && flight_waits_for_all(&entry) &&
                   story_remembers(rank->comm, sequence)) {
            all.untimed = rank;
        } else {
            return none;
        }
    }
    if (all.untimed != NULL && all.ended < all.most + LONG_WAIT) {
        return none; /* it may be the transfer; or somebody has not ended it */
    }
    const uint64_t called = all.untimed != NULL ? all.ended : all.most;
    story_last_t last = {.rank = all.untimed != NULL ? all.untimed : all.last,
                         .late = called - (all.untimed != NULL ? all.most : all.second)};
    last.held = story_was_held(last.rank, sequence, called, last.late);
    return last;
}

/* The collectives whose times are known on all ranks, or on all but the one that came last. */
typedef struct story_times {
    uint32_t count;
    story_last_t last[2 * WEFT_FLIGHT_ENTRIES];
} story_times_t;

/* Adds those of which the rank has an entry, and rank 0 of the job has none. */
static void story_take_times_of(const flight_job_t *job, uint32_t which, story_times_t *times)
{
    for (uint32_t k = 0; k < WEFT_FLIGHT_ENTRIES; k++) {
        const weft_flight_entry_t *entry = &job->rank[which].comm->entry[k];
        weft_flight_entry_t first = {.called = 0};
        uint32_t at = times->count;
        bool taken = which > 0 && flight_find(job->rank[0].comm, entry->sequence, &first) &&
                     first.called != 0;
        if (!taken && entry->coll != WEFT_SEND_RECV && entry->state != WEFT_FLIGHT_FREE) {
            times->last[at] = story_last_to_call(job, entry->sequence);
            times->count += times->last[at].rank != NULL ? 1 : 0;
        }
    }
}

/* At most one rank lacks an entry, so two have one of each. */
static void story_take_times(const flight_job_t *job, story_times_t *times)
{
    times->count = 0;
    for (uint32_t i = 0; i < 2 && job->found == job->nranks && job->found > 1; i++) {
        story_take_times_of(job, i, times);
    }
}

/* Returns the rank that came last most often. */
static const flight_rank_t *story_find_worst(const story_times_t *times)
{
    const flight_rank_t *worst = NULL;
    uint32_t often = 0;
    for (uint32_t i = 0; i < times->count; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < times->count; k++) {
            count += times->last[k].rank == times->last[i].rank ? 1 : 0;
        }
        worst = count > often ? times->last[i].rank : worst;
        often = count > often ? count : often;
    }
    return worst;
}

/* Whether some rank would be the last so often, once in a hundred jobs or more, if all were alike.
 * So it is where ranks outnumber cores, and the scheduler makes now this one late, now that one. */
static bool story_may_be_chance(uint32_t often, uint32_t times, uint32_t ranks)
{
    const double each = 1.0 / ranks;
    double chance = 0;
    for (uint32_t k = often; k <= times; k++) {
        chance += exp(lgamma(times + 1.0) - lgamma(k + 1.0) - lgamma(times - k + 1.0) +
                      k * log(each) + (times - k) * log1p(-each));
    }
    return ranks * chance > 0.01;
}

static void story_put_late(const flight_job_t *job, FILE *out)
{
    story_times_t times;
    story_take_times(job, &times);
    const flight_rank_t *worst = story_find_worst(&times);
    double late[2 * WEFT_FLIGHT_ENTRIES]; /* of the worst, in ms */
    uint32_t mine = 0, held = 0;
    for (uint32_t i = 0; i < times.count; i++) {
        if (times.last[i].rank == worst) {
            late[mine++] = (double)times.last[i].late / 1e6;
            held += times.last[i].held ? 1 : 0;
        }
    }
    if (mine > 0) {
        qsort(late, mine, sizeof late[0], story_compare);
        const char *rest = 2 * held > mine ? ", mostly because the one before had ended late there"
                           : story_may_be_chance(mine, times.count, job->nranks)
                               ? ", which may be chance, or the scheduler"
                               : "";
        fprintf(
            out,
            "  of %u collective%s whose times are known, rank %u came last in %u, by %.3g ms in "
            "the median%s\n",
            times.count, weft_plural(times.count), worst->comm->rank, mine, late[mine / 2], rest);
    }
}

uint64_t flight_now(const flight_job_t *job)
{
    const uint64_t clock = weft_os_clock_ns(), day = weft_os_wall_ms() * UINT64_C(1000000);
    for (uint32_t i = 0; i < job->found; i++) {
        if (flight_is_near(day - clock, flight_day(&job->rank[i]))) {
            return flight_at(&job->rank[i], clock);
        }
    }
    return job->found > 0 ? day : 0;
}

void flight_story(const flight_job_t *job, uint64_t now, FILE *out)
{
    uint32_t closed = 0;
    for (uint32_t i = 0; i < job->found; i++) {
        closed += job->rank[i].comm->life == WEFT_FLIGHT_CLOSED ? 1 : 0;
    }
    fprintf(out, "communicator %s (%016" PRIx64 ") of %u rank%s%s\n",
            flight_name(job, &job->rank[0]), job->id, job->nranks, weft_plural(job->nranks),
            closed == job->found ? ", destroyed" : "");
    story_put_missing(job, out);
    story_put_gone(job, out);
    story_put_stopped(job, out);
    story_put_failure(job, out);
    story_put_last(job, out);
    story_put_open(job, now, out);
    story_put_late(job, out);
}
