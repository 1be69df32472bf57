/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hosts tell of themselves, and which devices their ranks have. A host speaks by its first
 * rank, the only one that looks at the machine. */
#ifndef WEFT_TOPO_JOB_WORDS_H
#define WEFT_TOPO_JOB_WORDS_H

#include <stdbool.h>

#include "core/topo/job.h"

/* Returns a PCI address, "0000:3b:00.0", as a number; WEFT_JOB_NONE for other texts. Domains beyond
 * 16 bits are cut. */
uint32_t weft_job_address(const char *text);

/* Returns whether descriptions of the hosts would be of use: there are several, or some rank has a
 * GPU, or a machine or a graph of a file. */
bool weft_job_needs_kinds(const weft_job_t *job);
/* Returns the word of a host; its first rank calls this with its machine and the description. */
weft_job_word_t weft_job_word(const weft_job_t *job, uint32_t host, const weft_machine_t *machine,
                              const weft_job_kind_t *kind);
/* Takes the words of all ranks: finds kinds. The caller puts the descriptions into job->kinds then,
 * in memory of weft_os_alloc(), which the job owns from then on. ERR_RESOURCE. */
weft_status_t weft_job_take_words(weft_job_t *job, const weft_job_word_t *words);
/* The first rank of the first host of a kind: it has the description. */
uint32_t weft_job_kind_rank(const weft_job_t *job, uint32_t kind);
/* Finds the device and the participant of each rank, when all descriptions are there.
 * ERR_RESOURCE. */
weft_status_t weft_job_find_devices(weft_job_t *job, const weft_job_word_t *words);

#endif
