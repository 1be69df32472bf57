/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rendezvous. Rank 0 writes the note NAME, a hash of the job, with the id and who it is. Every
 * other rank first leaves NAME.<rank>, which says only who it is, so that its death is not silent
 * while there is no note. When it has the note it claims the id at the root, which from then on
 * watches it and tells it the outcome. When all have claimed, rank 0 removes the note, and all
 * return. When the exchange failed before all were told why, a verdict takes the place of the note,
 * for ranks that come when there is no root any more; the next rank 0 removes it. A file that a
 * crashed job left is known by its dead writer or its age, on the clock of the folder: those of
 * hosts may differ. */
#include "core/boot/rendezvous.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/boot/auth.h"
#include "core/boot/claim.h"
#include "core/boot/rendezvous_folder.h"
#include "core/boot/rendezvous_record.h"
#include "core/boot/unique_id.h"
#include "core/boot/wire.h"
#include "core/os/os.h"
#include "core/os/os_cancel.h"
#include "core/os/os_folder.h"

#define PATH_MOST 512
#define NAME_BYTES 32
#define SHORTEST_NS (WEFT_NS_PER_MS / 2)
#define LONGEST_NS (20 * WEFT_NS_PER_MS)
#define GRACE_NS (WEFT_NS_PER_S / 2)
/* How often rank 0 looks for ranks that died before the note was there. */
#define LOOK_NS (50 * WEFT_NS_PER_MS)
/* Ranks of one job start within this time of each other, on the clock of the folder. */
#define SIBLING_S 2
/* How long an older note's root is sought, before the note is looked at again. */
#define OLDER_NS (2 * WEFT_NS_PER_S)
/* A file that nobody can have been writing for so long is rubbish. */
#define RUBBISH_S 60
/* Ranks are started at most so long after rank 0 has failed. */
#define LATE_MS 500
/* A verdict of another job stays so long at least. */
#define VERDICT_S 2
/* When a rank that waits for rank 0 says so: if it has found the note of a process that ended, or
 * none. */
#define SAY_ENDED_NS WEFT_NS_PER_S
#define SAY_ABSENT_NS (5 * WEFT_NS_PER_S)

/* Communicator whose exchange failed last in this thread: its note and the verdict on it are no
 * news to a caller that tries again. */
static _Thread_local uint64_t rendezvous_failed;

typedef struct meeting {
    const weft_rendezvous_t *of;
    uint64_t until;
    uint64_t pause;
    uint64_t asked; /* communicator whose root was asked about its verdict; 0: none */
    uint64_t began;
    int64_t came;    /* when our file was written (weft_os_file_written) */
    int64_t written; /* the note that was found, likewise */
    bool said;       /* that we wait for rank 0 */
    char ended[200]; /* whose note was found that may be an older job's; "": nobody's */
    weft_join_request_t self;
    char folder[PATH_MOST - 64];
    char path[PATH_MOST];
} meeting_t;

static weft_status_t rendezvous_open(const weft_rendezvous_t *of, meeting_t *meeting)
{
    char hex[NAME_BYTES + 1];
    uint8_t hash[16];
    *meeting = (meeting_t){.of = of,
                           .until = weft_os_deadline(of->settings->init_timeout),
                           .pause = SHORTEST_NS,
                           .began = weft_os_clock_ns()};
    (void)weft_join_request_make(&meeting->self, of->rank, of->nranks, NULL, 0);
    weft_status_t status =
        weft_rendezvous_folder(of->settings->rendezvous, meeting->folder, sizeof meeting->folder);
    if (status == WEFT_OK) {
        (void)crypto_generichash(hash, sizeof hash, (const uint8_t *)of->job, strlen(of->job), NULL,
                                 0);
        sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
        snprintf(meeting->path, sizeof meeting->path, "%s/%s", meeting->folder, hex);
    }
    return status;
}

/* Sleeps a while. Returns false at the deadline. */
static bool rendezvous_nap(meeting_t *meeting)
{
    if (weft_os_clock_ns() >= meeting->until) {
        return false;
    }
    weft_os_sleep_ns(meeting->pause);
    meeting->pause = meeting->pause * 2 < LONGEST_NS ? meeting->pause * 2 : LONGEST_NS;
    return true;
}

static weft_status_t rendezvous_write(const meeting_t *meeting, const char *path,
                                      const weft_unique_id_t *id)
{
    weft_rendezvous_record_t record = {.id = {0}};
    if (id != NULL) {
        memcpy(record.id, id->bytes, sizeof record.id);
    }
    weft_join_request_encode(&meeting->self, record.writer);
    weft_put_u32(record.parent, (uint32_t)weft_os_parent_pid());
    weft_status_t status = weft_os_private_write(path, &record, sizeof record);
    sodium_memzero(&record, sizeof record);
    return status;
}

static weft_status_t rendezvous_rank_died(const meeting_t *meeting, const weft_join_request_t *dead)
{
    weft_fail(WEFT_ERR_PEER_DEAD, 0,
              "rank %u of host %s, pid %d, died while the ranks were joining", dead->rank,
              dead->host_name, dead->pid);
    weft_error_t *error = weft_error_record();
    error->rank = (int32_t)meeting->of->rank;
    error->peer = (int32_t)dead->rank;
    error->peer_pid = dead->pid;
    memcpy(error->peer_host, dead->host_name, sizeof error->peer_host);
    return error->status;
}

/* Removes the note unless another one has taken its place. */
static void rendezvous_remove_note(const meeting_t *meeting, const weft_unique_id_t *id)
{
    weft_rendezvous_record_t record;
    if (weft_os_private_read(meeting->path, &record, sizeof record) &&
        memcmp(record.id, id->bytes, sizeof record.id) == 0) {
        weft_os_file_remove(meeting->path);
    }
    sodium_memzero(&record, sizeof record);
}

/* Puts the calling thread's error in place of the note, for all that come yet. */
static void rendezvous_conclude(const meeting_t *meeting, const weft_unique_id_t *id)
{
    weft_rendezvous_record_t record;
    if (weft_os_private_read(meeting->path, &record, sizeof record) &&
        memcmp(record.id, id->bytes, sizeof record.id) == 0 && weft_get_u64(record.judged) == 0) {
        weft_error_t before = *weft_error_record();
        weft_put_u64(record.judged, weft_os_wall_ms());
        weft_error_encode(&before, record.verdict);
        if (weft_os_private_write(meeting->path, &record, sizeof record) != WEFT_OK) {
            weft_os_file_remove(meeting->path);
        }
        *weft_error_record() = before;
    }
    sodium_memzero(&record, sizeof record);
}

/* Makes the verdict the calling thread's error. AGAIN: it is damaged. */
static weft_status_t rendezvous_adopt(const meeting_t *meeting,
                                      const weft_rendezvous_record_t *record, uint64_t comm_id)
{
    weft_error_t error;
    const char *why;
    if (weft_error_decode(record->verdict, WEFT_RANKS_MOST, &error, &why) != WEFT_OK ||
        error.status == WEFT_OK) {
        return WEFT_AGAIN;
    }
    error.rank = (int32_t)meeting->of->rank;
    error.comm_id = comm_id;
    *weft_error_record() = error;
    return error.status;
}

/* A verdict on a job of the same name is on ours if we were started before it was made, or soon
 * after, or together with the writer. Only a job that is started again sooner than that can take it
 * for its own. */
static weft_status_t rendezvous_hear(const meeting_t *meeting,
                                     const weft_rendezvous_record_t *record, uint64_t comm_id)
{
    const char *why;
    weft_join_request_t writer;
    uint64_t started = weft_os_started_ms();
    if (weft_join_request_decode(record->writer, &writer, &why) != WEFT_OK ||
        ((started == 0 || started > weft_get_u64(record->judged) + LATE_MS) &&
         !(weft_rendezvous_is_here(&meeting->self, &writer) &&
           weft_rendezvous_is_sibling(&meeting->self, record, &writer)))) {
        return WEFT_AGAIN;
    }
    return rendezvous_adopt(meeting, record, comm_id);
}

/* Whoever was started too late to take a verdict for its own asks the root, which stays for some
 * seconds if its process does, and is nobody else's. AGAIN: there is none any more. */
static weft_status_t rendezvous_ask_root(meeting_t *meeting, const weft_id_t *id)
{
    weft_claim_t claim = {.fd = -1};
    uint64_t until = weft_os_clock_ns() + GRACE_NS;
    if (meeting->asked == weft_id_comm(id)) {
        return WEFT_AGAIN;
    }
    meeting->asked = weft_id_comm(id);
    weft_status_t status = weft_claim_open(&claim, id, &meeting->self, until);
    if (status == WEFT_OK) {
        status = weft_claim_wait(&claim, until);
    } else if (status != WEFT_ERR_ABORTED) {
        status = WEFT_AGAIN;
    }
    weft_claim_close(&claim);
    return status < 0 && status != WEFT_ERR_LINK ? status : WEFT_AGAIN;
}

/* A verdict stands in place of the note. AGAIN: it is another job's. */
static weft_status_t rendezvous_judged(meeting_t *meeting, const weft_rendezvous_record_t *record,
                                       const weft_id_t *id)
{
    weft_status_t status = rendezvous_hear(meeting, record, weft_id_comm(id));
    return status == WEFT_AGAIN ? rendezvous_ask_root(meeting, id) : status;
}

/* Rank 0 of our job, which will not come again, or of an older one of its name: nobody can tell. */
static void rendezvous_note_older(meeting_t *meeting, const weft_join_request_t *writer,
                                  const char *what)
{
    snprintf(meeting->ended, sizeof meeting->ended,
             "pid %d of host %s, which %s: it was rank 0 of this job or of an older one with the "
             "same name",
             writer->pid, writer->host_name, what);
}

/* Tells whether the root of a note that was written then has given up before this rank came. A
 * process of this host takes its note away then, and the clock may have been set since it wrote
 * it. */
static bool rendezvous_note_expired(meeting_t *meeting, const weft_rendezvous_record_t *record,
                                    const weft_id_t *id, int64_t written)
{
    const char *why;
    weft_join_request_t writer;
    const int64_t age = meeting->came - written;
    bool known = weft_join_request_decode(record->writer, &writer, &why) == WEFT_OK;
    if (id->life == 0 || age <= (int64_t)id->life ||
        (known && weft_rendezvous_is_here(&meeting->self, &writer))) {
        return false;
    }
    if (known) {
        snprintf(meeting->ended, sizeof meeting->ended,
                 "pid %d of host %s, which left it %lld s before this rank came: more than its "
                 "init_timeout",
                 writer.pid, writer.host_name, (long long)age);
    }
    return true;
}

/* Reads the note. Returns OK and the id; AGAIN: there is none, or it is an old one; else why the
 * exchange failed. */
static weft_status_t rendezvous_read(meeting_t *meeting, weft_unique_id_t *id,
                                     weft_join_request_t *writer)
{
    weft_rendezvous_record_t record;
    weft_id_t opened;
    weft_unique_id_t bytes;
    weft_status_t status = WEFT_AGAIN;
    int64_t written;
    /* Its time first: a note that replaces this one meanwhile is found next time. */
    if (!weft_os_file_written(meeting->path, &written) ||
        !weft_os_private_read(meeting->path, &record, sizeof record)) {
        return WEFT_AGAIN;
    }
    memcpy(bytes.bytes, record.id, sizeof bytes.bytes);
    if (weft_id_decode(&bytes, &opened) == WEFT_OK && weft_id_comm(&opened) != rendezvous_failed &&
        !rendezvous_note_expired(meeting, &record, &opened, written)) {
        weft_rendezvous_writer_t state = weft_rendezvous_judge(&meeting->self, &record, writer);
        status = weft_get_u64(record.judged) != 0 ? rendezvous_judged(meeting, &record, &opened)
                 : state == WEFT_WRITER_LIVES     ? WEFT_OK
                 : state == WEFT_RANK_DIED        ? rendezvous_rank_died(meeting, writer)
                                                  : WEFT_AGAIN;
        if (status == WEFT_AGAIN) {
            rendezvous_note_older(meeting, writer, "has ended");
        }
    }
    if (status == WEFT_OK) {
        *id = bytes;
        meeting->written = written;
    } else if (status != WEFT_AGAIN) {
        rendezvous_conclude(meeting, &bytes);
        rendezvous_failed = weft_id_comm(&opened);
    }
    sodium_memzero(&record, sizeof record);
    weft_id_wipe(&opened);
    return status;
}

typedef struct visit {
    const meeting_t *meeting;
    weft_status_t status;
    bool claimed; /* all ranks have: no file of one that waits is needed any more */
} visit_t;

/* Looks at one file of the folder: removes what a dead process left, and finds ranks of this job
 * that died before they had the note. */
static void rendezvous_visit(void *arg, const char *name, uint64_t age_s)
{
    visit_t *visit = arg;
    const meeting_t *meeting = visit->meeting;
    char path[PATH_MOST + 64];
    weft_rendezvous_record_t record;
    weft_join_request_t writer;
    if (strspn(name, "0123456789abcdef") != NAME_BYTES) {
        return;
    }
    snprintf(path, sizeof path, "%s/%.64s", meeting->folder, name);
    const char *mine = meeting->path + strlen(meeting->folder) + 1;
    if (visit->claimed && strncmp(name, mine, NAME_BYTES) == 0 && name[NAME_BYTES] == '.') {
        weft_os_file_remove(path);
        return;
    }
    if (!weft_os_private_read(path, &record, sizeof record)) {
        if (age_s > RUBBISH_S) {
            weft_os_file_remove(path);
        }
        return;
    }
    weft_rendezvous_writer_t state = weft_rendezvous_judge(&meeting->self, &record, &writer);
    if (strcmp(name, mine) == 0) {
        /* Ours. */
    } else if (weft_get_u64(record.judged) != 0) {
        if (age_s > (state == WEFT_WRITER_LIVES ? RUBBISH_S : VERDICT_S)) {
            weft_os_file_remove(path);
        }
    } else if (state != WEFT_WRITER_LIVES) {
        weft_os_file_remove(path);
        if (state == WEFT_RANK_DIED && strncmp(name, mine, NAME_BYTES) == 0 &&
            writer.rank < meeting->of->nranks) {
            visit->status = rendezvous_rank_died(meeting, &writer);
        }
    }
    sodium_memzero(&record, sizeof record);
}

/* Looks for the verdict on the exchange of an id that we had. */
static weft_status_t rendezvous_verdict(const meeting_t *meeting, const weft_unique_id_t *id)
{
    weft_rendezvous_record_t record;
    weft_id_t opened;
    weft_status_t status = WEFT_AGAIN;
    if (weft_os_private_read(meeting->path, &record, sizeof record) &&
        memcmp(record.id, id->bytes, sizeof record.id) == 0 && weft_get_u64(record.judged) != 0 &&
        weft_id_decode(id, &opened) == WEFT_OK) {
        status = rendezvous_adopt(meeting, &record, weft_id_comm(&opened));
        weft_id_wipe(&opened);
    }
    sodium_memzero(&record, sizeof record);
    return status;
}

/* Nobody listens at a loopback address. The root may do so on another host. */
static bool rendezvous_is_local(const weft_unique_id_t *id)
{
    weft_id_t opened;
    const bool local = weft_id_decode(id, &opened) == WEFT_OK && weft_id_is_local(&opened);
    weft_id_wipe(&opened);
    return local;
}

/* The connection to the root ended, or there never was one: the process that wrote the note has
 * died, or uses an id whose root has ended. */
static weft_status_t rendezvous_root_ended(const meeting_t *meeting, const weft_unique_id_t *id,
                                           const weft_join_request_t *writer)
{
    bool here = weft_rendezvous_is_here(&meeting->self, writer), runs = true;
    uint64_t until = weft_os_clock_ns() + GRACE_NS;
    do {
        runs = here && weft_os_process_runs(writer->pid, writer->started);
        /* The last thing that rank 0 does, so it is looked for afterwards. */
        weft_status_t status = rendezvous_verdict(meeting, id);
        if (status != WEFT_AGAIN) {
            return status;
        }
        weft_os_sleep_ns(LOOK_NS / 10);
    } while ((runs || !here) && weft_os_clock_ns() < until);
    weft_status_t status = WEFT_OK;
    if ((runs || !here) && rendezvous_is_local(id)) {
        status = weft_fail(WEFT_ERR_STATE, 0,
                           "stale unique id: its root has ended, or it is on another host and the "
                           "id leads to the loopback, because that host has no other address, or "
                           "boot.interface chose it there");
    } else {
        status = runs ? weft_fail(WEFT_ERR_STATE, 0, "stale unique id: its root has ended")
                      : rendezvous_rank_died(meeting, writer);
    }
    rendezvous_conclude(meeting, id);
    return status;
}

static weft_status_t rendezvous_timed_out(const meeting_t *meeting)
{
    if (meeting->ended[0] != '\0') {
        return weft_fail(
            WEFT_ERR_TIMEOUT, 0,
            "rank 0 left no unique id in %s before init_timeout; the one there is of %s",
            meeting->path, meeting->ended);
    }
    return weft_fail(WEFT_ERR_TIMEOUT, 0,
                     "%s %s before init_timeout; for ranks on several hosts set boot.rendezvous to "
                     "a folder that all of them share",
                     meeting->of->rank == 0 ? "not all ranks fetched the unique id from"
                                            : "rank 0 left no unique id in",
                     meeting->path);
}

/* The root knows who is missing, so its answer is awaited a little beyond our own deadline. */
static uint64_t rendezvous_last(const meeting_t *meeting)
{
    return meeting->until > WEFT_NEVER - GRACE_NS ? WEFT_NEVER : meeting->until + GRACE_NS;
}

static weft_status_t rendezvous_give(meeting_t *meeting, weft_unique_id_t *id)
{
    weft_id_t opened;
    weft_claim_t claim = {.fd = -1};
    visit_t visit = {.meeting = meeting, .status = WEFT_OK};
    weft_status_t status = weft_id_decode(id, &opened);
    if (status == WEFT_OK) {
        opened.by_rank_0 = true;
        weft_id_encode(&opened, id);
        status = rendezvous_write(meeting, meeting->path, id);
    }
    if (status == WEFT_OK) {
        status = weft_claim_open(&claim, &opened, &meeting->self, meeting->until);
        status = status == WEFT_OK ? WEFT_IN_PROGRESS : status;
    }
    while (status == WEFT_IN_PROGRESS) {
        weft_os_folder_visit(meeting->folder, rendezvous_visit, &visit);
        if (visit.status != WEFT_OK) {
            weft_claim_fail(&claim);
            visit.status = WEFT_OK;
        }
        status = weft_claim_wait(&claim, weft_os_clock_ns() + LOOK_NS);
        if (status == WEFT_IN_PROGRESS && weft_os_clock_ns() >= rendezvous_last(meeting)) {
            status = rendezvous_timed_out(meeting);
        }
    }
    if (status == WEFT_ERR_LINK) {
        status = weft_fail(WEFT_ERR_STATE, 0, "stale unique id: its root has ended");
    }
    /* The root is in this process, which may end before all that come have heard from it. After
     * init_timeout nobody else waits. */
    if (status != WEFT_OK && !claim.others_told && status != WEFT_ERR_TIMEOUT) {
        rendezvous_conclude(meeting, id);
    } else {
        rendezvous_remove_note(meeting, id);
    }
    if (status == WEFT_OK) {
        /* A rank that was killed between its claim and the end of its wait has left its file. */
        visit.claimed = true;
        weft_os_folder_visit(meeting->folder, rendezvous_visit, &visit);
        status = weft_claim_release(&claim, rendezvous_last(meeting));
    }
    if (status != WEFT_OK) {
        rendezvous_failed = weft_id_comm(&opened);
    }
    weft_claim_close(&claim);
    weft_id_wipe(&opened);
    return status;
}

/* Says once whom we wait for, if that takes long. */
static void rendezvous_say_wait(meeting_t *meeting)
{
    bool ended = meeting->ended[0] != '\0';
    uint64_t due = meeting->began + (ended ? SAY_ENDED_NS : SAY_ABSENT_NS);
    if (meeting->said || weft_os_clock_ns() < due) {
        return;
    }
    meeting->said = true;
    if (ended) {
        weft_log(
            WEFT_LOG_WARN, "boot",
            "rank %u waits for another rank 0 until init_timeout: the unique id in %s is of %s",
            meeting->of->rank, meeting->path, meeting->ended);
    } else {
        weft_log(WEFT_LOG_WARN, "boot",
                 "rank %u waits until init_timeout for rank 0, which has left no unique id in %s",
                 meeting->of->rank, meeting->path);
    }
}

/* Waits for the note. */
static weft_status_t rendezvous_find(meeting_t *meeting, weft_unique_id_t *id,
                                     weft_join_request_t *writer)
{
    weft_status_t status;
    while ((status = rendezvous_read(meeting, id, writer)) == WEFT_AGAIN) {
        rendezvous_say_wait(meeting);
        if ((status = weft_os_cancelled()) != WEFT_OK) {
            return status;
        }
        if (!rendezvous_nap(meeting)) {
            return rendezvous_timed_out(meeting);
        }
    }
    return status;
}

/* The note was there long before us, and its writer cannot be seen from here: it may be an older
 * job's, which was killed. */
static bool rendezvous_is_older(const meeting_t *meeting, const weft_join_request_t *writer)
{
    return !weft_rendezvous_is_here(&meeting->self, writer) &&
           meeting->came - meeting->written >= SIBLING_S;
}

/* AGAIN: nobody is there, and the note may be an older job's. If nobody listens it counts no more;
 * a host that does not answer may yet do so. */
static weft_status_t rendezvous_seek_root(meeting_t *meeting, const weft_id_t *id,
                                          const weft_join_request_t *writer, weft_claim_t *claim)
{
    const bool older = rendezvous_is_older(meeting, writer);
    uint64_t until = older ? weft_os_clock_ns() + OLDER_NS : meeting->until;
    until = until < meeting->until ? until : meeting->until;
    weft_status_t status = weft_claim_open(claim, id, &meeting->self, until);
    if (older && (status == WEFT_ERR_LINK || status == WEFT_ERR_TIMEOUT)) {
        rendezvous_note_older(meeting, writer,
                              status == WEFT_ERR_LINK ? "has ended" : "does not answer");
        rendezvous_failed = status == WEFT_ERR_LINK ? weft_id_comm(id) : rendezvous_failed;
        return WEFT_AGAIN;
    }
    return status;
}

/* AGAIN as rendezvous_seek_root(). */
static weft_status_t rendezvous_claim(meeting_t *meeting, const weft_unique_id_t *id,
                                      const weft_join_request_t *writer, const char *waits)
{
    weft_id_t opened;
    weft_claim_t claim = {.fd = -1};
    weft_status_t status = weft_id_decode(id, &opened);
    if (status == WEFT_OK) {
        status = rendezvous_seek_root(meeting, &opened, writer, &claim);
        if (status == WEFT_ERR_ABORTED) {
            weft_claim_report_failure(id, meeting->of->nranks, meeting->of->rank,
                                      weft_os_clock_ns() + GRACE_NS);
        }
    }
    if (status == WEFT_AGAIN) {
        weft_claim_close(&claim);
        weft_id_wipe(&opened);
        return status;
    }
    weft_os_file_remove(waits);
    if (status == WEFT_OK) {
        status = weft_claim_wait(&claim, rendezvous_last(meeting));
        status = status == WEFT_IN_PROGRESS ? rendezvous_timed_out(meeting) : status;
        if (status == WEFT_ERR_ABORTED) {
            weft_claim_fail(&claim); /* not dead */
        }
    }
    weft_claim_close(&claim);
    status = status == WEFT_ERR_LINK ? rendezvous_root_ended(meeting, id, writer) : status;
    if (status != WEFT_OK) {
        rendezvous_failed = weft_id_comm(&opened);
    }
    weft_id_wipe(&opened);
    return status;
}

static weft_status_t rendezvous_fetch(meeting_t *meeting, weft_unique_id_t *id)
{
    weft_unique_id_t found;
    weft_join_request_t writer;
    char waits[PATH_MOST + 16];
    snprintf(waits, sizeof waits, "%s.%u", meeting->path, meeting->of->rank);
    weft_status_t status = rendezvous_write(meeting, waits, NULL);
    (void)weft_os_file_written(waits, &meeting->came);
    status = status == WEFT_OK ? WEFT_AGAIN : status;
    while (status == WEFT_AGAIN) {
        status = rendezvous_find(meeting, &found, &writer);
        status = status == WEFT_OK ? rendezvous_claim(meeting, &found, &writer, waits) : status;
        if (status == WEFT_AGAIN && !rendezvous_nap(meeting)) {
            status = rendezvous_timed_out(meeting);
        }
    }
    weft_os_file_remove(waits);
    if (status == WEFT_OK) {
        *id = found;
    }
    return status;
}

weft_status_t weft_rendezvous_exchange(const weft_rendezvous_t *rendezvous, weft_unique_id_t *id)
{
    meeting_t meeting;
    weft_status_t status = weft_auth_start();
    status = status == WEFT_OK ? rendezvous_open(rendezvous, &meeting) : status;
    if (status != WEFT_OK) {
        return status;
    }
    status = rendezvous->rank == 0 ? rendezvous_give(&meeting, id) : rendezvous_fetch(&meeting, id);
    if (status == WEFT_ERR_TIMEOUT) {
        weft_rendezvous_folder_tell(meeting.folder, rendezvous->rank);
    }
    return status;
}
