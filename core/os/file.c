/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OS seam: files, the identity of this host, shared objects. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/os/os.h"

/* Reads up to max + 1 bytes: one too many tells that the file is larger than allowed. Files of
 * /proc and /sys state no size, so the size is found by reading. */
static ssize_t file_read_all(int fd, char *text, size_t max)
{
    size_t have = 0;
    while (have <= max) {
        ssize_t got = read(fd, text + have, max + 1 - have);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        have += (size_t)got;
    }
    return (ssize_t)have;
}

weft_status_t weft_os_read_file(const char *path, size_t max, char **text_p, size_t *bytes_p,
                                int *errno_p)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        *errno_p = errno;
        return weft_fail(WEFT_ERR_SYSTEM, errno, "cannot open %s", path);
    }
    weft_status_t status = WEFT_OK;
    char *text = NULL;
    if (fstat(fd, &st) != 0) {
        *errno_p = errno;
        status = weft_fail(WEFT_ERR_SYSTEM, errno, "cannot look at %s", path);
        goto out;
    }
    if (!(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))) {
        *errno_p = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        status = weft_fail(WEFT_ERR_SYSTEM, *errno_p, "%s is no regular file", path);
        goto out;
    }
    text = weft_os_alloc(max + 2, 0);
    if (text == NULL) {
        *errno_p = ENOMEM;
        status = weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "cannot read %s", path);
        goto out;
    }
    ssize_t got = file_read_all(fd, text, max);
    if (got < 0) {
        *errno_p = errno;
        status = weft_fail(WEFT_ERR_SYSTEM, errno, "cannot read %s", path);
    } else if ((size_t)got > max) {
        *errno_p = EFBIG;
        status = weft_fail(WEFT_ERR_RESOURCE, EFBIG, "%s is larger than %zu bytes", path, max);
    } else {
        text[got] = '\0';
        *text_p = text;
        *bytes_p = (size_t)got;
        text = NULL;
    }
out:
    weft_os_free(text);
    close(fd);
    return status;
}

void weft_os_host_id(uint8_t id[16])
{
    char *text = NULL;
    size_t bytes;
    int error;
    memset(id, 0, 16);
    if (weft_os_read_file("/proc/sys/kernel/random/boot_id", 128, &text, &bytes, &error) ==
        WEFT_OK) {
        unsigned at = 0;
        for (const char *p = text; *p != '\0' && at < 32; p++) {
            int digit = *p >= '0' && *p <= '9'   ? *p - '0'
                        : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
                                                 : -1;
            if (digit >= 0) {
                id[at / 2] = (uint8_t)(id[at / 2] << 4 | digit);
                at++;
            }
        }
        weft_os_free(text);
    } else {
        /* Without /proc the name is the best there is. */
        char name[64];
        weft_os_host_name(name, sizeof name);
        memcpy(id, name, 16);
    }
}

void weft_os_host_name(char *name, size_t bytes)
{
    char whole[HOST_NAME_MAX + 1];
    const bool known = gethostname(whole, sizeof whole) == 0;
    whole[HOST_NAME_MAX] = '\0';
    snprintf(name, bytes, "%.*s", (int)bytes - 1, known ? whole : "unknown");
}

void weft_os_open_standard(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        const int opened = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", O_RDWR) : -1;
        if (opened > STDERR_FILENO) {
            close(opened); /* the program was faster */
        }
    }
}
