/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the ranks meet. */
#include "core/boot/rendezvous_folder.h"

#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/config/env.h"
#include "core/os/os_folder.h"

/* The folder where nobody named one. Anybody may make one of this name in a folder for all, on
 * purpose or as another user of the same number; then there is a second. */
static weft_status_t rendezvous_folder_default(char *folder, size_t bytes)
{
    static const char *const bases[] = {"/tmp", "/dev/shm"};
    weft_status_t status = WEFT_ERR_CONFIG;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && status != WEFT_OK; i++) {
        snprintf(folder, bytes, "%s/weft-%u", bases[i], weft_os_user_id());
        status = weft_os_folder_make(folder);
    }
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
    const weft_error_t last = *weft_error_record();
    return weft_fail(status, last.os_errno,
                     "no folder for the unique id, neither in /tmp nor in /dev/shm: %.200s; set "
                     "boot.rendezvous to a folder of your own",
                     last.text);
}

weft_status_t weft_rendezvous_folder(const char *shared, char *folder, size_t bytes)
{
    const char *runtime = weft_env("XDG_RUNTIME_DIR");
    if (shared != NULL && *shared != '\0') {
        if (*shared != '/') {
            return weft_fail(WEFT_ERR_CONFIG, 0, "boot.rendezvous = %s is no absolute path",
                             shared);
        }
        snprintf(folder, bytes, "%.256s/weft-%u", shared, weft_os_user_id());
    } else if (runtime != NULL && *runtime == '/' && strlen(runtime) < 256 &&
               weft_os_folder_is_private(runtime)) {
        snprintf(folder, bytes, "%s/weft", runtime);
    } else {
        return rendezvous_folder_default(folder, bytes);
    }
    return weft_os_folder_make(folder);
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
