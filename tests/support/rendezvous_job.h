/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as processes that exchange unique ids through a folder of the test's own. */
#ifndef WEFT_TESTS_SUPPORT_RENDEZVOUS_JOB_H
#define WEFT_TESTS_SUPPORT_RENDEZVOUS_JOB_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/weft.h>

/* Set up and tear down a group of tests: the ranks meet below a new folder, which must be empty at
 * the end. */
int rendezvous_make_folder(void **state);
int rendezvous_remove_folder(void **state);
/* Where the files are: this user's folder below the new one. */
const char *rendezvous_folder(void);

/* Files in the folder. */
uint32_t rendezvous_files_left(void);
/* Those that are a note as a whole. */
uint32_t rendezvous_notes_left(void);
void rendezvous_remove_files(void);
/* Waits for the only file in the folder and copies it. Returns its size. */
size_t rendezvous_keep_file(char path[512], uint8_t *bytes, size_t most);

/* In memory that the processes share: the ids in the order of the exchanges, and who is done. */
typedef struct rendezvous_shared {
    weft_unique_id_t ids[8];
    _Atomic uint32_t done;
} rendezvous_shared_t;

/* The caller unmaps it. */
rendezvous_shared_t *rendezvous_shared_make(void);

weft_launcher_t rendezvous_launcher(uint32_t rank, uint32_t nranks);
/* For a process of its own: does `times` exchanges and returns 0 if all ids were right. */
int rendezvous_exchange_as(rendezvous_shared_t *shared, uint32_t rank, uint32_t nranks,
                           uint32_t times);
/* A rank 0 of an older job, whose launcher was another process: waits for a rank that never comes,
 * and is killed. */
void rendezvous_leave_a_dead_note(void);

#endif
