/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder in which ranks meet: machine.folder, which lies in the memory of the real machine. */
#ifndef WEFT_SIMULATION_FOLDER_H
#define WEFT_SIMULATION_FOLDER_H

/* Makes it, empty, and tells the ranks which job they are of. */
void folder_make(void);
/* Removes it, if there is one. */
void folder_empty(void);

#endif
