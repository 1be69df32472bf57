/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder. */
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"

void folder_empty(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", machine.folder);
    if (machine.folder[0] != '\0' && system(command) != 0) {
        fprintf(stderr, "weft-simtest: cannot remove %s\n", machine.folder);
        exit(2);
    }
}

void folder_make(void)
{
    snprintf(machine.folder, sizeof machine.folder, "/dev/shm/weft-simtest-%d", (int)getpid());
    folder_empty();
    if (mkdir(machine.folder, 0700) != 0 || setenv("PMIX_NAMESPACE", "simulated", 1) != 0) {
        perror(machine.folder);
        exit(2);
    }
}
