/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: memory that outlives its process, or is read by others. */
#include "core/os/os_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os_shared.h"

#define RECORD_NAMES 1000u /* files of one name in a folder */

static weft_status_t record_map(int fd, size_t bytes, weft_os_record_t *record)
{
    record->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (record->base == MAP_FAILED) {
        record->base = NULL;
        return weft_fail(WEFT_ERR_RESOURCE, errno, "cannot map a record of %zu bytes", bytes);
    }
    record->bytes = bytes;
    return WEFT_OK;
}

weft_status_t weft_os_record_create(const char *name, size_t bytes, weft_os_record_t *record)
{
    int fd;
    *record = (weft_os_record_t){.fd = -1};
    weft_status_t status = weft_os_sealed_file(name, bytes, &fd);
    if (status != WEFT_OK) {
        return status;
    }
    status = record_map(fd, bytes, record);
    if (status != WEFT_OK) {
        close(fd);
        return status;
    }
    record->fd = fd;
    return WEFT_OK;
}

/* Beyond the limit the system sends SIGXFSZ, which ends the process. */
static weft_status_t record_allocate(int fd, size_t bytes, const char *path)
{
    struct rlimit limit;
    int cause = getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur
                    ? EFBIG
                    : posix_fallocate(fd, 0, (off_t)bytes);
    return cause == 0
               ? WEFT_OK
               : weft_fail(WEFT_ERR_RESOURCE, cause, "cannot write %zu bytes to %s", bytes, path);
}

static int record_open_new(const char *folder, const char *name, const char *suffix,
                           weft_os_record_t *record)
{
    int fd = -1;
    for (uint32_t i = 1; i <= RECORD_NAMES && fd < 0; i++) {
        char number[16] = "";
        if (i > 1) {
            snprintf(number, sizeof number, "-%u", i);
        }
        int length =
            snprintf(record->path, sizeof record->path, "%s/%s%s.%s", folder, name, number, suffix);
        if (length < 0 || (size_t)length >= sizeof record->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(record->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) {
            return -1;
        }
    }
    if (fd >= 0) {
        (void)fchmod(fd, 0600); /* the umask may have taken what its owner needs to read it */
    }
    return fd;
}

weft_status_t weft_os_record_create_file(const char *folder, const char *name, const char *suffix,
                                         size_t bytes, weft_os_record_t *record)
{
    *record = (weft_os_record_t){.fd = -1};
    int fd = record_open_new(folder, name, suffix, record);
    if (fd < 0) {
        return weft_fail(WEFT_ERR_CONFIG, errno, "cannot make a file in the folder '%s'", folder);
    }
    weft_status_t status = record_allocate(fd, bytes, record->path);
    if (status == WEFT_OK) {
        status = record_map(fd, bytes, record);
    }
    if (status != WEFT_OK) {
        unlink(record->path);
    }
    close(fd);
    return status;
}

void weft_os_record_close(weft_os_record_t *record, bool keep)
{
    if (record->base == NULL) {
        return;
    }
    munmap(record->base, record->bytes);
    if (record->fd >= 0) {
        close(record->fd);
    }
    if (record->path[0] != '\0' && !keep) {
        unlink(record->path);
    }
    record->base = NULL;
}
