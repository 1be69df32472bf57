/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding and checking flight records. */
#include "tools/flight_read.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/coll.h"
#include "core/os/os.h"
#include "tools/tool.h"

#define FILE_MAX (UINT64_C(16) << 20)

/* Checking ------------------------------------------------------------------------------------- */

/* A writer may be in the middle of an entry, and a file may hold anything. */
static void read_clean_entry(weft_flight_entry_t *entry)
{
    bool good = entry->state <= WEFT_FLIGHT_DONE && entry->coll < WEFT_COLL_COUNT &&
                weft_dtype_name((weft_dtype_t)entry->dtype) != NULL;
    if (!good) {
        *entry = (weft_flight_entry_t){.peer = -1};
    }
}

static void read_clean_comm(weft_flight_comm_t *comm)
{
    comm->failure[sizeof comm->failure - 1] = '\0';
    comm->name[sizeof comm->name - 1] = '\0';
    memset(&comm->history.lock, 0, sizeof comm->history.lock); /* its writer may hold it */
    for (uint32_t i = 0; i < WEFT_FLIGHT_ENTRIES; i++) {
        read_clean_entry(&comm->entry[i]);
    }
}

static bool read_is_used(const weft_flight_comm_t *comm)
{
    return comm->life != WEFT_FLIGHT_UNUSED && comm->life <= WEFT_FLIGHT_CLOSED &&
           comm->rank < comm->nranks;
}

static bool read_is_ours(const weft_flight_header_t *header, size_t size)
{
    return size == sizeof(weft_flight_record_t) && header->header_bytes == sizeof *header &&
           header->comm_bytes == sizeof(weft_flight_comm_t) &&
           header->entry_bytes == sizeof(weft_flight_entry_t) &&
           header->comms == WEFT_FLIGHT_COMMS && header->entries == WEFT_FLIGHT_ENTRIES;
}

flight_copy_t *flight_parse(const void *bytes, size_t size, const char **why_p)
{
    const weft_flight_record_t *record = bytes;
    uint32_t used = 0;
    if (size < sizeof record->header ||
        memcmp(record->header.magic, WEFT_FLIGHT_MAGIC, sizeof record->header.magic) != 0) {
        *why_p = "is no flight record";
        return NULL;
    }
    if (!read_is_ours(&record->header, size)) {
        *why_p = "is the flight record of another version of weft, or a part of one";
        return NULL;
    }
    for (uint32_t i = 0; i < WEFT_FLIGHT_COMMS; i++) {
        used += read_is_used(&record->comm[i]) ? 1 : 0;
    }
    flight_copy_t *copy = weft_os_alloc(sizeof *copy + used * sizeof copy->comm[0], 0);
    if (copy == NULL) {
        *why_p = "is too large for the memory";
        return NULL;
    }
    copy->header = record->header;
    copy->header.host[sizeof copy->header.host - 1] = '\0';
    for (uint32_t i = 0; i < WEFT_FLIGHT_COMMS && copy->ncomms < used; i++) {
        weft_flight_comm_t *comm = &copy->comm[copy->ncomms];
        *comm = record->comm[i];
        if (read_is_used(comm)) {
            read_clean_comm(comm);
            copy->ncomms++;
        }
    }
    return copy;
}

/* Finding -------------------------------------------------------------------------------------- */

static bool read_is_alive(const weft_flight_header_t *header)
{
    uint8_t here[16];
    weft_os_host_id(here);
    return memcmp(here, header->host_id, sizeof here) == 0 && header->pid > 0 &&
           (kill(header->pid, 0) == 0 || errno == EPERM);
}

/* Returns false, and why, if the file holds none. */
static bool read_file(const char *path, const char *name, flight_sources_t *sources,
                      const char **why_p)
{
    char *bytes = NULL;
    size_t size = 0;
    int cause = 0;
    if (weft_os_read_file(path, FILE_MAX, &bytes, &size, &cause) != WEFT_OK) {
        *why_p = strerror(cause);
        return false;
    }
    flight_copy_t *record = flight_parse(bytes, size, why_p);
    weft_os_free(bytes);
    if (record == NULL) {
        return false;
    }
    sources->full = sources->count == FLIGHT_SOURCES_MAX;
    flight_source_t *all =
        sources->full ? NULL
                      : realloc(sources->source, (sources->count + 1) * sizeof *sources->source);
    if (all == NULL) {
        weft_os_free(record);
        return true;
    }
    sources->source = all;
    flight_source_t *source = &all[sources->count++];
    *source = (flight_source_t){.alive = read_is_alive(&record->header), .record = record};
    snprintf(source->name, sizeof source->name, "%s", name);
    return true;
}

static bool read_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Returns how many records the folder has. */
static uint32_t read_folder(const char *folder, flight_sources_t *sources)
{
    DIR *dir = opendir(folder);
    uint32_t found = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        char path[4096];
        const char *why;
        if (!read_ends_with(entry->d_name, "." WEFT_FLIGHT_SUFFIX)) {
            continue;
        }
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof path) {
            continue;
        }
        if (read_file(path, entry->d_name, sources, &why)) {
            found++;
        } else {
            fprintf(stderr, "weft: %s %s\n", path, why);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

/* Files of records that the process has mapped. */
static uint32_t read_maps(const char *pid, flight_sources_t *sources)
{
    char path[64], line[1024];
    const char *why;
    uint32_t found = 0;
    snprintf(path, sizeof path, "/proc/%.20s/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *file = strchr(line, '/');
        if (file != NULL && read_ends_with(file, "." WEFT_FLIGHT_SUFFIX)) {
            found += read_file(file, file, sources, &why) ? 1 : 0;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Anonymous records are among the descriptors of their process. */
static uint32_t read_process(const char *pid, flight_sources_t *sources)
{
    char folder[64], path[400], target[64], name[64];
    uint32_t found = read_maps(pid, sources);
    snprintf(folder, sizeof folder, "/proc/%.20s/fd", pid);
    snprintf(name, sizeof name, "process %.20s", pid);
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        const char *why;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "/memfd:" WEFT_FLIGHT_NAME, sizeof "/memfd:" WEFT_FLIGHT_NAME - 1) ==
            0) {
            found += read_file(path, name, sources, &why) ? 1 : 0;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

static bool read_is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool flight_read(const char *what, flight_sources_t *sources)
{
    char folder[64];
    struct stat file;
    const char *why = strerror(ENOENT);
    if (read_is_number(what)) {
        snprintf(folder, sizeof folder, "/proc/%.20s/fd", what);
        if (read_process(what, sources) > 0) {
            return true;
        }
        why = access(folder, R_OK) == 0
                  ? "has no flight record: it runs no communicator of this version of weft"
              : errno == ENOENT ? "there is no such process"
                                : strerror(errno);
        return tool_usage("process %s: %s", what, why) == TOOL_OK;
    }
    if (stat(what, &file) == 0 && S_ISDIR(file.st_mode)) {
        return read_folder(what, sources) > 0 ||
               tool_usage("no *." WEFT_FLIGHT_SUFFIX " in the folder %s", what) == TOOL_OK;
    }
    return read_file(what, what, sources, &why) || tool_usage("%s: %s", what, why) == TOOL_OK;
}

void flight_read_all(flight_sources_t *sources)
{
    DIR *dir = opendir("/proc");
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (read_is_number(entry->d_name)) {
            read_process(entry->d_name, sources);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

void flight_free(flight_sources_t *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        weft_os_free(sources->source[i].record);
    }
    free(sources->source);
    *sources = (flight_sources_t){.count = 0};
}
