/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes, and the files that they leave in the folder where they meet. */
#include "rendezvous_job.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static char base[64], folder[128];

int rendezvous_make_folder(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/weft-test-XXXXXX");
    if (mkdtemp(base) == NULL) {
        return 1;
    }
    snprintf(folder, sizeof folder, "%s/weft-%u", base, geteuid());
    return setenv("WEFT_BOOT_RENDEZVOUS", base, 1);
}

int rendezvous_remove_folder(void **state)
{
    (void)state;
    rmdir(folder);
    return rmdir(base);
}

const char *rendezvous_folder(void)
{
    return folder;
}

/* With `notes` only those that are a note as a whole. */
static uint32_t files_count(bool notes)
{
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.' && (!notes || strchr(e->d_name, '.') == NULL);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

uint32_t rendezvous_files_left(void)
{
    return files_count(false);
}

uint32_t rendezvous_notes_left(void)
{
    return files_count(true);
}

void rendezvous_remove_files(void)
{
    char path[512];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/%.255s", folder, e->d_name);
        (void)unlink(path);
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

rendezvous_shared_t *rendezvous_shared_make(void)
{
    rendezvous_shared_t *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    return shared;
}

weft_launcher_t rendezvous_launcher(uint32_t rank, uint32_t nranks)
{
    return (weft_launcher_t){.size = sizeof(weft_launcher_t),
                             .name = "openmpi",
                             .rank = rank,
                             .nranks = nranks,
                             .local_rank = rank,
                             .local_ranks = nranks};
}

int rendezvous_exchange_as(rendezvous_shared_t *shared, uint32_t rank, uint32_t nranks,
                           uint32_t times)
{
    weft_launcher_t launcher = rendezvous_launcher(rank, nranks);
    alarm(20);
    for (uint32_t i = 0; i < times; i++) {
        weft_unique_id_t id;
        memset(&id, 0, sizeof id);
        if (rank == 0) {
            if (weft_unique_id_create(&id, NULL) != WEFT_OK) {
                return 3;
            }
            shared->ids[i] = id;
        }
        weft_status_t status = weft_launcher_exchange_id(&launcher, &id, NULL);
        if (status != WEFT_OK) {
            fprintf(stderr, "rank %u: %s\n", rank, weft_error_record()->text);
            return 1;
        }
        /* All but the mark that rank 0 made it, and the checksum. */
        if (memcmp(id.bytes + 4, shared->ids[i].bytes + 4, 116) != 0) {
            fprintf(stderr, "rank %u: a wrong id\n", rank);
            return 2;
        }
    }
    /* The root of the id is in the process of rank 0. */
    for (atomic_fetch_add(&shared->done, 1); rank == 0 && atomic_load(&shared->done) < nranks;) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    return 0;
}

void rendezvous_leave_a_dead_note(void)
{
    int how;
    pid_t launcher = fork();
    if (launcher == 0) {
        pid_t dead = fork();
        if (dead == 0) {
            weft_launcher_t l = rendezvous_launcher(0, 2);
            weft_unique_id_t id;
            _exit(weft_unique_id_create(&id, NULL) == WEFT_OK &&
                  weft_launcher_exchange_id(&l, &id, NULL) == WEFT_OK);
        }
        while (rendezvous_notes_left() == 0 && waitpid(dead, &how, WNOHANG) == 0) {
            weft_os_sleep_ns(WEFT_NS_PER_MS);
        }
        kill(dead, SIGKILL);
        waitpid(dead, &how, 0);
        _exit(0);
    }
    waitpid(launcher, &how, 0);
}

size_t rendezvous_keep_file(char path[512], uint8_t *bytes, size_t most)
{
    while (rendezvous_files_left() == 0) {
        weft_os_sleep_ns(WEFT_NS_PER_MS);
    }
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] != '.') {
            snprintf(path, 512, "%s/%.255s", folder, e->d_name);
        }
    }
    closedir(dir);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, most, file);
    fclose(file);
    return size;
}
