/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a launcher gives beside ranks: a name for the job, and advice where it could give more. */
#ifndef WEFT_BOOT_LAUNCHER_H
#define WEFT_BOOT_LAUNCHER_H

#include <stdbool.h>

#include <weft/weft.h>

/* Writes a text that is the same for all processes of the launcher's job, and different for all
 * other jobs. ERR_UNSUPPORTED: the launcher gives none; ERR_CONFIG: it is too long. */
weft_status_t weft_launcher_name_job(const weft_launcher_t *launcher, char *text, size_t bytes);
/* How to start a job of this launcher so that it carries the unique id itself; "" if it never
 * does. */
const char *weft_launcher_advice(const weft_launcher_t *launcher);
/* True if all ranks are known to be on this host. */
bool weft_launcher_is_local(const weft_launcher_t *launcher);
/* True if the process is below an agent of torchrun. Variables of a PMI or PMIx server are then
 * those of the launcher above, whose ranks are agents. */
bool weft_launcher_is_elastic(const weft_launcher_t *launcher);

#endif
