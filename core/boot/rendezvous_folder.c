/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the ranks meet. */
#include "core/boot/rendezvous_folder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/env.h"
#include "core/os/os.h"
#include "core/os/os_folder.h"

/* As much as a note needs. */
#define ROOM_BYTES 1024
/* Bytes of boot.rendezvous; the names of files below it are put together in 512. */
#define SHARED_MOST 256

/* Makes the folder. One without room is found here: later would be too late to take another. */
static weft_status_t rendezvous_folder_use(const char *folder)
{
    static const char nothing[ROOM_BYTES];
    char path[512];
    weft_status_t status = weft_os_folder_make(folder);
    if (status == WEFT_OK) {
        /* Whoever visits the folder takes it for rubbish, if this process is killed. */
        snprintf(path, sizeof path, "%.400s/%032d.room%d", folder, 0, (int)weft_os_pid());
        status = weft_os_private_write(path, nothing, sizeof nothing);
        weft_os_file_remove(path);
    }
    return status;
}

/* The folder where nobody named one. Anybody may make one of this name in a folder for all, on
 * purpose or as another user of the same number, and fill the disk; then there is a second. */
static weft_status_t rendezvous_folder_default(char *folder, size_t bytes)
{
    static const char *const bases[] = {"/tmp", "/dev/shm"};
    weft_status_t status = WEFT_ERR_CONFIG;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && status != WEFT_OK; i++) {
        snprintf(folder, bytes, "%s/weft-%u", bases[i], weft_os_user_id());
        status = rendezvous_folder_use(folder);
    }
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
    const weft_error_t last = *weft_error_record();
    weft_fail(status, 0,
              "no folder for the unique id, neither in /tmp nor in /dev/shm: %.200s; set "
              "boot.rendezvous to a folder of your own",
              last.text);
    weft_error_record()->os_errno = last.os_errno;
    return status;
}

weft_status_t weft_rendezvous_folder(const char *shared, char *folder, size_t bytes)
{
    const char *runtime = weft_env("XDG_RUNTIME_DIR");
    if (shared != NULL && *shared != '\0') {
        if (*shared != '/') {
            return weft_fail(WEFT_ERR_CONFIG, 0, "boot.rendezvous = %s is no absolute path",
                             shared);
        }
        if (strlen(shared) > SHARED_MOST) {
            return weft_fail(WEFT_ERR_CONFIG, 0,
                             "boot.rendezvous has %zu bytes, expected at most %d", strlen(shared),
                             SHARED_MOST);
        }
        snprintf(folder, bytes, "%s/weft-%u", shared, weft_os_user_id());
        return weft_os_folder_make(folder);
    }
    if (runtime != NULL && *runtime == '/' && strlen(runtime) <= SHARED_MOST &&
        weft_os_folder_is_private(runtime)) {
        snprintf(folder, bytes, "%s/weft", runtime);
        if (rendezvous_folder_use(folder) == WEFT_OK) {
            return WEFT_OK;
        }
    }
    return rendezvous_folder_default(folder, bytes);
}

void weft_rendezvous_folder_tell(const char *folder, uint32_t rank)
{
    weft_error_t *error = weft_error_record();
    const size_t at = strlen(error->text);
    if (strstr(error->text, folder) == NULL) {
        snprintf(error->text + at, sizeof error->text - at, "; rank %u meets the others in %s",
                 rank, folder);
    }
}
