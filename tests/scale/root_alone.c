/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The root of a join with more ranks than this machine can run: the real root, and a program that
 * speaks for all ranks. It connects, proves itself and registers for one rank after the other, as
 * join.c does, then reads every welcome and says that every tree connection stands.
 *
 * Usage: root_alone [-f FILES] [RANKS]…   Prints one line of JSON for each number; exit code 0: all
 * were welcomed. With -f the root's process may open so many files only, and each rank must hear of
 * that. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/auth.h"
#include "core/boot/connector.h"
#include "core/boot/join_request.h"
#include "core/boot/id_create.h"
#include "core/boot/wire.h"
#include "core/os/os.h"

#define LOOPBACK "=lo"
#define TIMEOUT_S 100
#define TOLD_S 15.0 /* until each rank has been told that the root may not open enough files */

static unsigned files_most; /* of the root's process; 0: as it is */

typedef struct speaker {
    weft_id_t id;
    uint32_t nranks;
    weft_join_request_t request;
    uint64_t until;
    int *fds;
} speaker_t;

static bool speaker_fail(uint32_t rank, const char *what)
{
    fprintf(stderr, "rank %u: %s: %s\n", rank, what, weft_error_record()->text);
    return false;
}

static bool speaker_tell(const speaker_t *speaker, uint32_t rank, uint32_t type)
{
    uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    uint32_t payload = type == WEFT_FRAME_JOIN ? WEFT_WIRE_JOIN_REQUEST : 0;
    weft_frame_t frame = {
        .type = type, .bytes = payload, .from = rank, .comm_id = weft_id_comm(&speaker->id)};
    size_t bytes = WEFT_WIRE_HEADER + payload;
    int error;
    weft_frame_encode(&frame, message);
    weft_join_request_encode(&speaker->request, message + WEFT_WIRE_HEADER);
    return weft_os_send(speaker->fds[rank], message, bytes, &error) == (ssize_t)bytes ||
           speaker_fail(rank, "cannot send");
}

static bool speaker_register(speaker_t *speaker, uint32_t rank)
{
    uint8_t key[32], label[WEFT_AUTH_LABEL];
    weft_connector_t connector;
    weft_id_key(&speaker->id, WEFT_PURPOSE_ROOT, key);
    weft_auth_label_make(label, WEFT_PURPOSE_ROOT, rank);
    weft_connector_begin(&connector, key, label, speaker->id.addrs, speaker->id.count,
                         speaker->until);
    if (weft_connector_run(&connector) != WEFT_OK) {
        return speaker_fail(rank, "cannot connect");
    }
    speaker->fds[rank] = connector.fd;
    speaker->request.rank = rank;
    return speaker_tell(speaker, rank, WEFT_FRAME_JOIN);
}

/* Receives `bytes` of what the root sends to a rank. */
static bool speaker_hear(const speaker_t *speaker, uint32_t rank, uint8_t *message, size_t bytes)
{
    size_t have = 0;
    while (have < bytes) {
        int error;
        struct pollfd entry = {.fd = speaker->fds[rank], .events = POLLIN};
        ssize_t got = weft_os_recv(speaker->fds[rank], message + have, bytes - have, &error);
        if (got == WEFT_OS_NONE && weft_os_clock_ns() < speaker->until) {
            (void)weft_os_poll(&entry, 1, speaker->until);
        } else if (got <= 0) {
            return speaker_fail(rank, "hears nothing");
        } else {
            have += (size_t)got;
        }
    }
    return true;
}

static bool speaker_hear_neighbour(const speaker_t *speaker, uint32_t rank, uint32_t type,
                                   uint32_t neighbour)
{
    uint8_t message[WEFT_WIRE_HEADER + WEFT_WIRE_JOIN_REQUEST];
    weft_frame_t frame;
    weft_join_request_t request;
    const char *why;
    if (!speaker_hear(speaker, rank, message, sizeof message)) {
        return false;
    }
    return (weft_frame_decode(message, speaker->nranks, weft_id_comm(&speaker->id), &frame, &why) ==
                WEFT_OK &&
            frame.type == type &&
            weft_join_request_decode(message + WEFT_WIRE_HEADER, &request, &why) == WEFT_OK &&
            request.rank == neighbour) ||
           speaker_fail(rank, "a wrong welcome");
}

static bool speaker_hear_welcome(const speaker_t *speaker, uint32_t rank)
{
    bool good = true;
    for (uint32_t child = 2 * rank + 1; good && child <= 2 * rank + 2 && child < speaker->nranks;
         child++) {
        good = speaker_hear_neighbour(speaker, rank, WEFT_FRAME_CHILD, child);
    }
    return good && speaker_hear_neighbour(speaker, rank, WEFT_FRAME_WELCOME,
                                          rank == 0 ? 0 : (rank - 1) / 2);
}

/* The failure has the limit, what is needed and what to do. */
static bool speaker_hear_limit(const speaker_t *speaker, uint32_t rank)
{
    uint8_t message[WEFT_WIRE_MOST];
    weft_error_t error = {.text = "no failure"};
    const char *why;
    char limit[64], need[64];
    if (!speaker_hear(speaker, rank, message, sizeof message)) {
        return false;
    }
    (void)weft_error_decode(message + WEFT_WIRE_HEADER, speaker->nranks, &error, &why);
    snprintf(need, sizeof need, "the join of %u ranks needs more open files", speaker->nranks);
    snprintf(limit, sizeof limit, "the limit is %u (ulimit -n; hard limit %u)", files_most,
             files_most);
    *weft_error_record() = error;
    return (error.status == WEFT_ERR_RESOURCE && strstr(error.text, need) != NULL &&
            strstr(error.text, limit) != NULL && strstr(error.text, "are needed") != NULL) ||
           speaker_fail(rank, "does not hear of the limit");
}

/* Ranks that come one after the other, to a root that has failed with the first of them. */
static bool speaker_run_refused(speaker_t *speaker, double seconds[2])
{
    bool good = true;
    uint64_t begun = weft_os_clock_ns();
    for (uint32_t r = 0; good && r < speaker->nranks; r++) {
        good = speaker_register(speaker, r) && speaker_hear_limit(speaker, r);
        weft_os_close(speaker->fds[r]);
    }
    seconds[0] = seconds[1] = (double)(weft_os_clock_ns() - begun) * 1e-9;
    return good && seconds[0] < TOLD_S;
}

/* Speaks for all ranks. Gives the seconds until all had registered, and until all were welcomed. */
static bool speaker_run(const weft_unique_id_t *id, uint32_t nranks, double seconds[2])
{
    speaker_t speaker = {.nranks = nranks, .until = weft_os_deadline(TIMEOUT_S)};
    uint64_t begun = weft_os_clock_ns();
    speaker.fds = calloc(nranks, sizeof *speaker.fds);
    bool good = speaker.fds != NULL && weft_id_decode(id, &speaker.id) == WEFT_OK &&
                weft_os_files_reserve(nranks + 16, "one program that is all ranks") == WEFT_OK &&
                weft_join_request_make(&speaker.request, 0, nranks, LOOPBACK, 4711) == WEFT_OK;
    good = good || speaker_fail(0, "cannot begin");
    if (good && files_most > 0) {
        good = speaker_run_refused(&speaker, seconds);
        free(speaker.fds);
        return good;
    }
    for (uint32_t r = 0; good && r < nranks; r++) {
        good = speaker_register(&speaker, r);
    }
    seconds[0] = (double)(weft_os_clock_ns() - begun) * 1e-9;
    for (uint32_t r = 0; good && r < nranks; r++) {
        good = speaker_hear_welcome(&speaker, r);
    }
    seconds[1] = (double)(weft_os_clock_ns() - begun) * 1e-9;
    for (uint32_t r = 0; good && r < nranks; r++) {
        good = speaker_tell(&speaker, r, WEFT_FRAME_READY);
    }
    free(speaker.fds);
    return good;
}

/* In a process of its own, because each end of a connection takes a descriptor. */
static pid_t speaker_start(uint32_t nranks, int id_in, int seconds_out)
{
    pid_t child = fork();
    if (child == 0) {
        weft_unique_id_t id;
        double seconds[2];
        bool good = read(id_in, &id, sizeof id) == (ssize_t)sizeof id &&
                    speaker_run(&id, nranks, seconds) &&
                    write(seconds_out, seconds, sizeof seconds) == (ssize_t)sizeof seconds;
        _exit(good ? 0 : 1);
    }
    return child;
}

static double cpu_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

/* The process of the root has few descriptors from now on. */
static bool root_limit_files(void)
{
    struct rlimit few = {files_most, files_most};
    return files_most == 0 || setrlimit(RLIMIT_NOFILE, &few) == 0;
}

static bool root_serve(uint32_t nranks)
{
    int ids[2], times[2], how = -1;
    double seconds[2] = {0};
    weft_unique_id_t id;
    struct rusage before, after;
    weft_boot_settings_t settings = {.init_timeout = TIMEOUT_S, .interface = LOOPBACK};
    if (pipe(ids) != 0 || pipe(times) != 0) {
        return false;
    }
    pid_t speaker = speaker_start(nranks, ids[0], times[1]);
    getrusage(RUSAGE_SELF, &before);
    bool good = root_limit_files() && weft_boot_id_create(&settings, &id) == WEFT_OK &&
                write(ids[1], &id, sizeof id) == (ssize_t)sizeof id;
    close(ids[1]); /* the speaker ends if there is no id */
    waitpid(speaker, &how, 0);
    getrusage(RUSAGE_SELF, &after);
    good = good && how == 0 && read(times[0], seconds, sizeof seconds) == (ssize_t)sizeof seconds;
    printf("{\"ranks\":%u,\"registered\":%.3f,\"welcomed\":%.3f,\"root_cpu\":%.3f,"
           "\"root_cpu_us_each\":%.1f,\"right\":%s}\n",
           nranks, seconds[0], seconds[1], cpu_of(&after) - cpu_of(&before),
           (cpu_of(&after) - cpu_of(&before)) * 1e6 / nranks, good ? "true" : "false");
    fflush(stdout);
    close(ids[0]);
    close(times[0]);
    close(times[1]);
    return good;
}

int main(int argc, char **argv)
{
    bool good = true;
    for (int option; (option = getopt(argc, argv, "f:")) != -1;) {
        if (option != 'f') {
            return 2;
        }
        files_most = (unsigned)atoi(optarg);
    }
    for (int i = optind; i < argc; i++) {
        good = root_serve((uint32_t)atoi(argv[i])) && good;
    }
    return good ? 0 : 1;
}
