/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `weft run` and its agents hear: frames in pieces over a pipe, and the strings that say what
 * an agent has to do. Frames come out as they went in, or what comes is no frame. */

#include "fuzz.h"
#include "tools/run_task.h"
#include "tools/run_wire.h"

/* Whatever is read can be passed on: all strings end where the sanitizer lets them. */
static void take_task(const char *data, size_t bytes)
{
    run_task_t task = {.memory = NULL};
    if (run_task_read(data, bytes, &task)) {
        size_t length = strlen(task.folder) + 1;
        FUZZ_NEED(task.count > 0 && task.first < task.nranks);
        FUZZ_NEED(task.count <= task.nranks - task.first);
        for (const char *const *one = task.variables; *one != NULL; one++) {
            length += strlen(*one) + 1;
        }
        for (char **word = task.command; *word != NULL; word++) {
            length += strlen(*word) + 1;
        }
        FUZZ_NEED(length < bytes && task.command[0] != NULL);
    }
    free(task.memory);
}

/* Hosts and numbers of a text, as of -H, and what each of their agents reads. */
static void share(const char *list, uint8_t how)
{
    char *command[] = {"a", how > 128 ? "" : NULL, NULL};
    const char *variables[] = {"A=1", "B="};
    run_job_t job = {.command = command,
                     .folder = "/",
                     .variables = variables,
                     .variable_count = how % 3,
                     .bind = how > 64};
    if (run_task_hosts(&job, list, how % 7)) {
        uint32_t ranks = 0;
        for (uint32_t i = 0; i < job.host_count; i++) {
            size_t bytes = 0;
            run_task_t task = {.memory = NULL};
            char *text = run_task_write(&job, &job.hosts[i], &bytes);
            FUZZ_NEED(text != NULL && job.hosts[i].first == ranks);
            ranks += job.hosts[i].count;
            FUZZ_NEED(run_task_read(text, bytes, &task));
            FUZZ_NEED(task.first == job.hosts[i].first && task.count == job.hosts[i].count);
            FUZZ_NEED(task.nranks == job.nranks && task.bind == job.bind);
            FUZZ_NEED(strcmp(task.command[0], "a") == 0 && strcmp(task.folder, "/") == 0);
            free(task.memory);
            free(text);
        }
        FUZZ_NEED(ranks == job.nranks);
    }
    free(job.hosts);
}

/* The bytes come as the pipe gives them; the frames are those that stand in them. */
static void hear(const uint8_t *data, size_t bytes)
{
    run_reader_t reader = {.data = NULL};
    bool broken = false, open = true;
    size_t told = 0, at = 0;
    int fds[2];
    FUZZ_NEED(pipe2(fds, O_CLOEXEC) == 0);
    bytes = bytes < 4096 ? bytes : 4096;
    while (open && !broken) {
        size_t piece = at < bytes ? 1 + data[at] % 64 : 0;
        piece = piece < bytes - at ? piece : bytes - at;
        FUZZ_NEED(run_wire_write(fds[1], data + at, piece));
        at += piece;
        if (piece == 0) {
            close(fds[1]);
        }
        run_frame_t frame;
        const char *what = NULL;
        open = run_reader_fill(&reader, fds[0]);
        FUZZ_NEED(open == (piece > 0));
        while (run_reader_next(&reader, &frame, &what, &broken)) {
            FUZZ_NEED(frame.kind >= RUN_JOB && frame.kind <= RUN_FAILED && !broken);
            FUZZ_NEED(told + sizeof frame + frame.bytes <= at);
            FUZZ_NEED(memcmp(&frame, data + told, sizeof frame) == 0);
            told += sizeof frame;
            FUZZ_NEED(frame.bytes == 0 || memcmp(what, data + told, frame.bytes) == 0);
            told += frame.bytes;
            if (frame.kind == RUN_JOB) {
                take_task(what, frame.bytes);
            }
        }
    }
    if (open) {
        close(fds[1]);
    }
    FUZZ_NEED(!run_wire_send(fds[0], RUN_INPUT, 0, "x", 1)); /* the end that reads */
    close(fds[0]);
    run_reader_free(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint32_t open = fuzz_descriptors();
    uint8_t kind = fuzz_byte(&data, &bytes), how;
    char *text;
    switch (kind % 3) {
    case 0:
        hear(data, bytes);
        break;
    case 1:
        text = fuzz_text(data, bytes);
        take_task(text, bytes);
        free(text);
        break;
    default:
        how = fuzz_byte(&data, &bytes);
        text = fuzz_text(data, bytes);
        share(text[0] != '\0' ? text : NULL, how);
        free(text);
    }
    FUZZ_NEED(fuzz_descriptors() == open);
    return 0;
}
