/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that others may read while this process runs, or after it has ended: an anonymous file of
 * this process, or a file in a folder. */
#ifndef WEFT_OS_RECORD_H
#define WEFT_OS_RECORD_H

#include <stdbool.h>

#include <weft/types.h>

#define WEFT_OS_RECORD_PATH 512

typedef struct weft_os_record {
    void *base; /* NULL: none */
    size_t bytes;
    int fd;                         /* of the anonymous file; −1 */
    char path[WEFT_OS_RECORD_PATH]; /* of the file in a folder; "" */
} weft_os_record_t;

/* Makes zeroed memory of `bytes` bytes in an anonymous file, which /proc shows as `name`. It takes
 * what is touched only. ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_os_record_create(const char *name, size_t bytes, weft_os_record_t *record);
/* The same in the new file FOLDER/NAME.SUFFIX, or FOLDER/NAME-2.SUFFIX and so on if there is one,
 * which its user alone may read. The disk gives all of it at once, so that it cannot be full later.
 * ERR_CONFIG (there is no such folder, or it may not be written), ERR_RESOURCE, ERR_SYSTEM. */
weft_status_t weft_os_record_create_file(const char *folder, const char *name, const char *suffix,
                                         size_t bytes, weft_os_record_t *record);
/* Unmaps it. A file in a folder stays if `keep`. */
void weft_os_record_close(weft_os_record_t *record, bool keep);

#endif
