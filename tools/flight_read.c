/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding and checking flight records. */
#include "tools/flight_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/utf8.h"
#include "core/os/os.h"
#include "tools/flight_settle.h"
#include "tools/tool.h"

#define FILE_MAX (UINT64_C(16) << 20)
#define BLIND                                                                                      \
    "/proc shows no processes: it is not mounted here, or is that of another PID namespace"

/* Checking ------------------------------------------------------------------------------------- */

/* A file may hold anything. */
static void read_clean_entry(weft_flight_entry_t *entry)
{
    bool good = entry->state <= WEFT_FLIGHT_DONE && entry->coll < WEFT_COLL_COUNT &&
                weft_dtype_name((weft_dtype_t)entry->dtype) != NULL;
    if (!good) {
        *entry = (weft_flight_entry_t){.peer = -1};
    }
}

/* It goes to a terminal, and others may have written it. */
static void read_clean_text(char *text, size_t bytes)
{
    text[bytes - 1] = '\0';
    weft_utf8_clean(text);
}

static void read_clean_comm(weft_flight_comm_t *comm)
{
    read_clean_text(comm->failure, sizeof comm->failure);
    read_clean_text(comm->name, sizeof comm->name);
    memset(&comm->history.lock, 0, sizeof comm->history.lock); /* its writer may hold it */
    for (uint32_t i = 0; i < WEFT_FLIGHT_PLACES; i++) {
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
    read_clean_text(copy->header.host, sizeof copy->header.host);
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

/* A process in which a record was found. */
typedef struct read_holder {
    int32_t pid, inner; /* its number here, and in its own namespace */
    bool stopped;
    bool ended;    /* and nobody has waited for it */
    bool headless; /* its first thread has ended before the others */
    uint32_t uid, records;
} read_holder_t;

/* Reads the numbers behind a word of /proc/PID/status. Returns how many there were, at most two:
 * the first and the last. */
static uint32_t read_numbers(const char *line, const char *word, unsigned long number[2])
{
    const size_t length = strlen(word);
    uint32_t count = 0;
    char *at = NULL;
    if (strncmp(line, word, length) != 0) {
        return 0;
    }
    for (const char *from = line + length;; from = at) {
        const unsigned long value = strtoul(from, &at, 10);
        if (at == from) {
            return count;
        }
        number[count == 0 ? 0 : 1] = value;
        number[1] = value;
        count = count == 0 ? 1 : 2;
    }
}

static read_holder_t read_holder(const char *pid)
{
    char path[64], line[512];
    unsigned long number[2], threads = 0;
    bool zombie = false;
    read_holder_t holder = {.pid = atoi(pid), .inner = atoi(pid), .uid = UINT32_MAX};
    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    FILE *status = fopen(path, "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, "State:\t", 7) == 0) {
            holder.stopped = line[7] == 'T' || line[7] == 't';
            zombie = line[7] == 'Z' || line[7] == 'X';
        } else if (read_numbers(line, "Threads:", number) > 0) {
            threads = number[0];
        } else if (read_numbers(line, "Uid:", number) > 0) {
            holder.uid = (uint32_t)number[0];
        } else if (read_numbers(line, "NSpid:", number) > 0) {
            holder.inner = (int32_t)number[1];
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    holder.ended = zombie && threads <= 1;
    holder.headless = zombie && threads > 1;
    return holder;
}

/* A process that was forked has the records of its parent. */
static bool read_is_own(const read_holder_t *holder, const weft_flight_header_t *header)
{
    return holder->inner == header->pid;
}

static flight_source_t *read_find(const flight_sources_t *sources, const struct stat *file)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        flight_source_t *source = &sources->source[i];
        if (source->device == file->st_dev && source->inode == file->st_ino) {
            return source;
        }
    }
    return NULL;
}

/* Looks for the process of a record that lies in a file. */
static void read_seek_process(flight_source_t *source)
{
    const weft_flight_header_t *header = &source->record->header;
    uint8_t here[16];
    char pid[16];
    weft_os_host_id(here);
    if (memcmp(here, header->host_id, sizeof here) == 0 && header->pid > 0 &&
        (kill(header->pid, 0) == 0 || errno == EPERM)) {
        snprintf(pid, sizeof pid, "%d", header->pid);
        const read_holder_t holder = read_holder(pid);
        source->alive = !holder.ended;
        source->stopped = holder.stopped;
    }
}

static void read_take_holder(flight_source_t *source, const read_holder_t *holder)
{
    if (read_is_own(holder, &source->record->header)) {
        source->alive = true;
        source->stopped = holder->stopped;
        source->pid = holder->pid;
        source->uid = holder->uid;
    }
}

/* Takes the record over. */
static void read_add(flight_sources_t *sources, flight_copy_t *record, const char *name,
                     const struct stat *file, const read_holder_t *holder)
{
    bool room = sources->count < FLIGHT_SOURCES_MAX;
    flight_source_t *all =
        room ? realloc(sources->source, (sources->count + 1) * sizeof *sources->source) : NULL;
    sources->full = sources->full || !room;
    if (all == NULL) {
        weft_os_free(record);
        return;
    }
    sources->source = all;
    flight_source_t *source = &all[sources->count++];
    *source = (flight_source_t){.pid = record->header.pid,
                                .uid = holder != NULL ? holder->uid : file->st_uid,
                                .device = file->st_dev,
                                .inode = file->st_ino,
                                .record = record};
    snprintf(source->name, sizeof source->name, "%s", name);
    if (holder != NULL) {
        read_take_holder(source, holder);
    } else {
        read_seek_process(source);
    }
}

/* Reads a file that its process may write meanwhile. ERR_SYSTEM, ERR_RESOURCE: *cause_p says
 * why. */
static weft_status_t read_settled(const char *path, char **bytes_p, size_t *size_p, int *cause_p)
{
    enum { COPIES = 3, TRIES = 8 }; /* names are seldom set */
    char *copy[COPIES] = {NULL};
    size_t size[COPIES] = {0};
    weft_status_t status = WEFT_OK;
    bool settled = false;
    for (int i = 0; i < TRIES && !settled && status == WEFT_OK; i++) {
        settled = true;
        for (int k = 0; k < COPIES && status == WEFT_OK; k++) {
            weft_os_free(copy[k]);
            copy[k] = NULL;
            status = weft_os_read_file(path, FILE_MAX, &copy[k], &size[k], cause_p);
            weft_os_fence_reads();
            settled = settled && size[k] == sizeof(weft_flight_record_t);
        }
        settled = !settled || status != WEFT_OK ||
                  flight_settle((void *)copy[0], (void *)copy[1], (void *)copy[2]);
    }
    weft_os_free(copy[0]);
    weft_os_free(copy[2]);
    *bytes_p = copy[1];
    *size_p = size[1];
    if (status != WEFT_OK) {
        weft_os_free(copy[1]);
        *bytes_p = NULL;
    }
    return status;
}

/* Returns false, and why, if the file holds none. `holder`: the process that has it, or NULL. */
static bool read_file(const char *path, const char *name, read_holder_t *holder,
                      flight_sources_t *sources, const char **why_p)
{
    char *bytes = NULL;
    size_t size = 0;
    int cause = 0;
    struct stat file;
    if (stat(path, &file) != 0) {
        *why_p = strerror(errno);
        return false;
    }
    if (!S_ISREG(file.st_mode)) {
        *why_p = S_ISDIR(file.st_mode) ? strerror(EISDIR) : "no plain file";
        return false;
    }
    flight_source_t *known = read_find(sources, &file);
    if (known != NULL || (holder != NULL && holder->records >= FLIGHT_PROCESS_MAX)) {
        sources->full = sources->full || known == NULL;
        if (known != NULL && holder != NULL) {
            read_take_holder(known, holder);
        }
        return true;
    }
    if (read_settled(path, &bytes, &size, &cause) != WEFT_OK) {
        *why_p = strerror(cause);
        return false;
    }
    flight_copy_t *record = flight_parse(bytes, size, why_p);
    weft_os_free(bytes);
    if (record == NULL) {
        return false;
    }
    if (holder != NULL) {
        holder->records++;
    }
    read_add(sources, record, name, &file, holder);
    return true;
}

/* Reads what a process has under a path, which that process chose: nothing but a plain file is
 * opened, as opening a device may do something. */
static bool read_pinned(const char *path, int flags, const char *name, read_holder_t *holder,
                        flight_sources_t *sources)
{
    char pinned[64];
    const char *why;
    struct stat file;
    int fd = open(path, O_PATH | O_CLOEXEC | flags);
    bool found = false;
    if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
        snprintf(pinned, sizeof pinned, "/proc/self/fd/%d", fd);
        found = read_file(pinned, name, holder, sources, &why);
    }
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

static bool read_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Reads a file of a folder. What is wrong with it is no reason to leave out the others. */
static bool read_entry(const char *folder, const char *name, flight_sources_t *sources)
{
    char path[4096];
    const char *why = strerror(ENAMETOOLONG);
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length >= 0 && (size_t)length < sizeof path && read_file(path, name, NULL, sources, &why)) {
        return true;
    }
    fprintf(stderr, "weft: %s: %s\n", path, why);
    return false;
}

/* Reads the records of a folder. Returns false, and says so, if it has none. */
static bool read_folder(const char *folder, flight_sources_t *sources)
{
    DIR *dir = opendir(folder);
    uint32_t files = 0, found = 0;
    if (dir == NULL) {
        return tool_usage("%s: %s", folder, strerror(errno)) == TOOL_OK;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (read_ends_with(entry->d_name, "." WEFT_FLIGHT_SUFFIX)) {
            files++;
            found += read_entry(folder, entry->d_name, sources) ? 1 : 0;
        }
    }
    closedir(dir);
    if (files == 0) {
        tool_usage("no *." WEFT_FLIGHT_SUFFIX " in the folder %s", folder);
    }
    return found > 0;
}

/* Where /proc shows what the process has. A thread that has ended has nothing: then it is the
 * folder of another thread. */
static void read_place(const char *pid, const read_holder_t *holder, char place[64])
{
    char tasks[64];
    snprintf(place, 64, "/proc/%.20s", pid);
    if (!holder->headless) {
        return;
    }
    snprintf(tasks, sizeof tasks, "/proc/%.20s/task", pid);
    DIR *dir = opendir(tasks);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, pid) != 0) {
            snprintf(place, 64, "%.40s/%.20s", tasks, entry->d_name);
            break;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* Files of records that the process has mapped. */
static uint32_t read_maps(const char *place, read_holder_t *holder, flight_sources_t *sources)
{
    char path[80], *line = NULL;
    size_t room = 0;
    uint32_t found = 0;
    snprintf(path, sizeof path, "%s/maps", place);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && getline(&line, &room, maps) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *file = strchr(line, '/');
        if (file != NULL && read_ends_with(file, "." WEFT_FLIGHT_SUFFIX)) {
            found += read_pinned(file, O_NOFOLLOW, file, holder, sources) ? 1 : 0;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    free(line);
    return found;
}

/* Anonymous records are among the descriptors of their process. */
static uint32_t read_process(const char *pid, flight_sources_t *sources)
{
    char place[64], folder[80], path[400], target[64], name[64];
    read_holder_t holder = read_holder(pid);
    read_place(pid, &holder, place);
    uint32_t found = read_maps(place, &holder, sources);
    snprintf(folder, sizeof folder, "%s/fd", place);
    snprintf(name, sizeof name, "process %.20s", pid);
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "/memfd:" WEFT_FLIGHT_NAME, sizeof "/memfd:" WEFT_FLIGHT_NAME - 1) ==
            0) {
            found += read_pinned(path, 0, name, &holder, sources) ? 1 : 0;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return found;
}

/* Whether /proc shows processes: it may not be mounted, or be that of another PID namespace. */
static bool read_sees(void)
{
    char self[32];
    return readlink("/proc/self", self, sizeof self) > 0;
}

/* Why the records of a process cannot be read. Where /proc hides the processes of others, it is the
 * kernel that knows of them. */
static const char *read_why_not(const char *pid)
{
    char place[64], folder[80];
    if (!read_sees()) {
        return BLIND;
    }
    const read_holder_t holder = read_holder(pid);
    read_place(pid, &holder, place);
    snprintf(folder, sizeof folder, "%s/fd", place);
    if (access(folder, R_OK) == 0) {
        return "has no flight record: it runs no communicator of this version of weft";
    }
    const int error = errno;
    const unsigned long long number = strtoull(pid, NULL, 10);
    if (number == 0 || number > INT32_MAX || (kill((pid_t)number, 0) != 0 && errno == ESRCH)) {
        return "there is no such process";
    }
    return error == ENOENT || error == EPERM || error == EACCES
               ? "belongs to another user, whose processes root may look at"
               : strerror(error);
}

static bool read_is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

bool flight_read(const char *what, flight_sources_t *sources)
{
    struct stat file;
    const char *why = strerror(ENOENT);
    if (read_is_number(what)) {
        if (read_process(what, sources) > 0) {
            return true;
        }
        why = read_why_not(what);
        return tool_usage("process %s: %s", what, why) == TOOL_OK;
    }
    if (stat(what, &file) == 0 && S_ISDIR(file.st_mode)) {
        return read_folder(what, sources);
    }
    return read_file(what, what, NULL, sources, &why) || tool_usage("%s: %s", what, why) == TOOL_OK;
}

bool flight_read_all(flight_sources_t *sources)
{
    if (!read_sees()) {
        return tool_usage("cannot see which processes run: %s", BLIND) == TOOL_OK;
    }
    DIR *dir = opendir("/proc");
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (read_is_number(entry->d_name)) {
            read_process(entry->d_name, sources);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return true;
}

void flight_free(flight_sources_t *sources)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        weft_os_free(sources->source[i].record);
    }
    free(sources->source);
    *sources = (flight_sources_t){.count = 0};
}
