/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rendezvous. Rank 0 writes the file NAME, a hash of the job. Every other rank writes
 * NAME.<rank> with the id's nonce when it has read NAME. Rank 0 removes all files when all ranks
 * have come, and the others return when NAME is gone. A record that a crashed job left is known by
 * its age and its dead writer. */
#include "core/boot/rendezvous.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/boot/unique_id.h"
#include "core/boot/wire.h"
#include "core/config/env.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

#define PATH_MOST 512
#define RECORD_BYTES (WEFT_UNIQUE_ID_BYTES + 16 + 8 + 8 + 8)
#define SHORTEST_NS (WEFT_NS_PER_MS / 2)
#define LONGEST_NS (20 * WEFT_NS_PER_MS)

typedef struct meeting {
    const weft_rendezvous_t *of;
    uint64_t until;
    uint64_t pause;
    char path[PATH_MOST];
} meeting_t;

static weft_status_t rendezvous_folder(const meeting_t *meeting, char *folder, size_t bytes)
{
    const char *shared = meeting->of->settings->rendezvous;
    const char *runtime = weft_env("XDG_RUNTIME_DIR");
    if (shared != NULL && *shared != '\0') {
        if (*shared != '/') {
            return weft_fail(WEFT_ERR_CONFIG, 0, "boot.rendezvous = %s is no absolute path",
                             shared);
        }
        snprintf(folder, bytes, "%.256s/weft-%u", shared, weft_os_user_id());
    } else if (runtime != NULL && *runtime == '/' && strlen(runtime) < 256 &&
               weft_os_folder_is_private(runtime)) {
        snprintf(folder, bytes, "%s/weft", runtime);
    } else {
        snprintf(folder, bytes, "/tmp/weft-%u", weft_os_user_id());
    }
    return weft_os_folder_make(folder);
}

static weft_status_t rendezvous_open(const weft_rendezvous_t *of, meeting_t *meeting)
{
    char folder[PATH_MOST - 64], hex[33];
    uint8_t hash[16];
    *meeting = (meeting_t){
        .of = of, .until = weft_os_deadline(of->settings->init_timeout), .pause = SHORTEST_NS};
    weft_status_t status = rendezvous_folder(meeting, folder, sizeof folder);
    if (status == WEFT_OK) {
        (void)crypto_generichash(hash, sizeof hash, (const uint8_t *)of->job, strlen(of->job), NULL,
                                 0);
        sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
        snprintf(meeting->path, sizeof meeting->path, "%s/%s", folder, hex);
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

static void rendezvous_receipt_path(const meeting_t *meeting, uint32_t rank, char *path,
                                    size_t bytes)
{
    snprintf(path, bytes, "%s.%u", meeting->path, rank);
}

static weft_status_t rendezvous_write(const meeting_t *meeting, const weft_unique_id_t *id)
{
    uint8_t record[RECORD_BYTES];
    uint64_t started = 0;
    int32_t parent;
    uint8_t *p = record + WEFT_UNIQUE_ID_BYTES;
    memcpy(record, id->bytes, sizeof id->bytes);
    weft_os_host_id(p);
    weft_put_u64(p + 16, weft_os_pid_space());
    weft_put_u64(p + 24, (uint64_t)(uint32_t)weft_os_pid());
    (void)weft_os_process(weft_os_pid(), &started, &parent, NULL);
    weft_put_u64(p + 32, started);
    weft_status_t status = weft_os_private_write(meeting->path, record, sizeof record);
    sodium_memzero(record, sizeof record);
    return status;
}

/* Tells whether the writer of the record may still live. That is known on its own host only. */
static bool rendezvous_writer_lives(const uint8_t *p)
{
    uint8_t host[16];
    uint64_t started;
    int32_t parent;
    weft_os_host_id(host);
    if (memcmp(host, p, sizeof host) != 0 || weft_get_u64(p + 16) != weft_os_pid_space()) {
        return true;
    }
    return weft_os_process((int32_t)weft_get_u64(p + 24), &started, &parent, NULL) &&
           started == weft_get_u64(p + 32);
}

/* Reads a record. Returns false unless it is whole and not stale. */
static bool rendezvous_read(const meeting_t *meeting, weft_unique_id_t *id, uint8_t nonce[16])
{
    uint8_t record[RECORD_BYTES];
    weft_unique_id_t bytes;
    weft_id_t opened;
    bool good = weft_os_private_read(meeting->path, record, sizeof record);
    if (good) {
        memcpy(bytes.bytes, record, sizeof bytes.bytes);
        good = weft_id_decode(&bytes, &opened) == WEFT_OK && !weft_id_expired(&opened) &&
               rendezvous_writer_lives(record + WEFT_UNIQUE_ID_BYTES);
    }
    if (good) {
        *id = bytes;
        memcpy(nonce, opened.nonce, sizeof opened.nonce);
    }
    sodium_memzero(record, sizeof record);
    weft_id_wipe(&opened);
    return good;
}

static weft_status_t rendezvous_give(meeting_t *meeting, const weft_unique_id_t *id)
{
    weft_id_t opened;
    uint8_t nonce[16];
    char path[PATH_MOST + 16];
    uint32_t have = 1;
    weft_status_t status = weft_id_decode(id, &opened);
    if (status == WEFT_OK) {
        status = rendezvous_write(meeting, id);
    }
    while (status == WEFT_OK && have < meeting->of->nranks) {
        rendezvous_receipt_path(meeting, have, path, sizeof path);
        if (weft_os_private_read(path, nonce, sizeof nonce) &&
            memcmp(nonce, opened.nonce, sizeof nonce) == 0) {
            weft_os_file_remove(path);
            have++;
        } else if (!rendezvous_nap(meeting)) {
            status = weft_fail(WEFT_ERR_TIMEOUT, 0,
                               "rank %u of %u did not fetch the unique id from %s before "
                               "init_timeout; for ranks on several hosts set boot.rendezvous to a "
                               "folder that all of them share",
                               have, meeting->of->nranks, meeting->path);
        }
    }
    weft_os_file_remove(meeting->path);
    weft_id_wipe(&opened);
    return status;
}

static weft_status_t rendezvous_fetch(meeting_t *meeting, weft_unique_id_t *id)
{
    weft_unique_id_t found, other;
    uint8_t nonce[16], now[16];
    char path[PATH_MOST + 16];
    while (!rendezvous_read(meeting, &found, nonce)) {
        if (!rendezvous_nap(meeting)) {
            return weft_fail(WEFT_ERR_TIMEOUT, 0,
                             "rank 0 left no unique id in %s before init_timeout; for ranks on "
                             "several hosts set boot.rendezvous to a folder that all of them share",
                             meeting->path);
        }
    }
    rendezvous_receipt_path(meeting, meeting->of->rank, path, sizeof path);
    weft_status_t status = weft_os_private_write(path, nonce, sizeof nonce);
    meeting->pause = SHORTEST_NS;
    while (status == WEFT_OK && rendezvous_read(meeting, &other, now) &&
           memcmp(now, nonce, sizeof now) == 0) {
        if (!rendezvous_nap(meeting)) {
            weft_os_file_remove(path);
            status = weft_fail(WEFT_ERR_TIMEOUT, 0,
                               "rank 0 still waits for other ranks to fetch the unique id from %s",
                               meeting->path);
        }
    }
    if (status == WEFT_OK) {
        *id = found;
    }
    return status;
}

weft_status_t weft_rendezvous_exchange(const weft_rendezvous_t *rendezvous, weft_unique_id_t *id)
{
    meeting_t meeting;
    if (sodium_init() < 0) {
        return weft_fail(WEFT_ERR_SYSTEM, 0, "libsodium cannot start");
    }
    weft_status_t status = rendezvous_open(rendezvous, &meeting);
    if (status != WEFT_OK) {
        return status;
    }
    return rendezvous->rank == 0 ? rendezvous_give(&meeting, id) : rendezvous_fetch(&meeting, id);
}
