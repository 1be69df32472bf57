/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file as bytes. */
#include "file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "msccl_read.h"

/* FNV-1a (Fowler, Noll and Vo): a changed file has another number; it keeps out no adversary. */
static uint64_t file_source_hash_of(const char *text, size_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static weft_status_t file_source_refuse(const weft_host_t *host, const file_source_t *source,
                                        int error, const char *why)
{
    return host->set_error(host, WEFT_ERR_CONFIG, error, "%s, listed in [algo-file] files: %s",
                           source->path, why);
}

static weft_status_t check_file(const weft_host_t *host, const file_source_t *source, int fd,
                                size_t *bytes_p)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return file_source_refuse(host, source, errno, "cannot be looked at");
    }
    if (!S_ISREG(status.st_mode)) {
        return file_source_refuse(host, source, 0, "is no file");
    }
    if (status.st_size == 0) {
        return file_source_refuse(host, source, 0,
                                  "is empty; plans or an XML program are expected");
    }
    if (status.st_size > (off_t)FILE_BYTES_MAX) {
        return file_source_refuse(host, source, 0, "is larger than 64 MiB");
    }
    *bytes_p = (size_t)status.st_size;
    return WEFT_OK;
}

static weft_status_t file_source_read_all(const weft_host_t *host, file_source_t *source, int fd)
{
    weft_status_t status = check_file(host, source, fd, &source->bytes);
    if (status != WEFT_OK) {
        return status;
    }
    source->text = host->alloc(host, source->bytes, 0);
    if (source->text == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    for (size_t done = 0; done < source->bytes;) {
        ssize_t got = read(fd, source->text + done, source->bytes - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return file_source_refuse(host, source, got < 0 ? errno : 0,
                                      "cannot be read to its end");
        }
        done += (size_t)got;
    }
    source->hash = file_source_hash_of(source->text, source->bytes);
    return WEFT_OK;
}

weft_status_t file_source_open(const weft_host_t *host, const char *path, size_t length,
                               file_source_t **source_p)
{
    file_source_t *source = host->alloc(host, sizeof *source, 0);
    if (source == NULL) {
        return WEFT_ERR_RESOURCE;
    }
    weft_status_t status = WEFT_ERR_RESOURCE;
    source->path = host->alloc(host, length + 1, 0);
    if (source->path == NULL) {
        goto err_source;
    }
    memcpy(source->path, path, length);
    /* A pipe or a device in the place of a file must not keep the program waiting. */
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        status = file_source_refuse(
            host, source, errno,
            path[length] != ' ' && path[length] != '\t'
                ? "cannot be opened"
                : "cannot be opened; a path with blanks stands in double quotes");
        goto err_source;
    }
    status = file_source_read_all(host, source, fd);
    close(fd);
    if (status != WEFT_OK) {
        goto err_source;
    }
    *source_p = source;
    return WEFT_OK;
err_source:
    file_source_close(host, source);
    return status;
}

void file_source_close(const weft_host_t *host, file_source_t *source)
{
    msccl_destroy(source->program);
    host->free(host, source->text);
    host->free(host, source->path);
    host->free(host, source);
}
