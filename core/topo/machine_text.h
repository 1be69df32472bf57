/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine as text, one line a thing; docs/topology.md describes it. The first line is
 * "weft-machine 1". Things of a kind are numbered from 0 as they stand, and name others by their
 * number; what is not known is left out:
 *
 *     machine name=NAME socket=BANDWIDTH
 *     package N index=N model=TEXT
 *     node N index=N package=N memory=BYTES cores=N pus=N usable=N list=PUS
 *            bandwidth=BANDWIDTH
 *     branch N parent=N node=N bandwidth=BANDWIDTH bridges=N name=TEXT
 *     gpu N branch=N node=N pci=BANDWIDTH bridges=N address=TEXT model=TEXT system=TEXT
 *     nic N … speed=BANDWIDTH rail=N
 *     link N N|switch bandwidth=BANDWIDTH        between GPUs
 *
 * GPUs stand before NICs. A branch or device has the node of its parent unless it says another.
 * Caches and single cores are not part of it. */
#ifndef WEFT_TOPO_MACHINE_TEXT_H
#define WEFT_TOPO_MACHINE_TEXT_H

#include <stdio.h>

#include "core/topo/machine.h"

/* `file` names the text in errors and in machine->source. ERR_CONFIG names the line and what was
 * expected. On success the machine is to be freed with weft_machine_fini(). */
weft_status_t weft_machine_parse(const char *file, const char *text, weft_machine_t *machine_p);
weft_status_t weft_machine_load(const char *path, weft_machine_t *machine_p);
/* Reads back as the same machine, but for caches and cores. */
void weft_machine_print(const weft_machine_t *machine, FILE *out);

#endif
