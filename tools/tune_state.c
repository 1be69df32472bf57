/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See tune_state.h. A line is: collective bytes algorithm seconds low high model chosen. */
#include "tools/tune_state.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/plural.h"
#include "tools/tool.h"

#define BYTES_MAX (UINT64_C(1) << 50)
#define TIME_MIN 1e-12 /* seconds */
#define TIME_MAX 1e9

static tune_result_t *tune_state_find(const tune_results_t *results, const tune_result_t *of)
{
    for (size_t i = 0; i < results->count; i++) {
        tune_result_t *result = &results->list[i];
        if (result->coll == of->coll && result->bytes == of->bytes &&
            strcmp(result->algo, of->algo) == 0) {
            return result;
        }
    }
    return NULL;
}

/* A later result takes the place of an earlier one: the point was measured again. */
static bool tune_state_keep(tune_results_t *results, const tune_result_t *result)
{
    tune_result_t *earlier = tune_state_find(results, result);
    if (earlier != NULL) {
        *earlier = *result;
        return true;
    }
    if (results->count == results->room) {
        size_t room = results->room > 0 ? 2 * results->room : 64;
        tune_result_t *list = realloc(results->list, room * sizeof *list);
        if (list == NULL) {
            return false;
        }
        results->list = list;
        results->room = room;
    }
    results->list[results->count++] = *result;
    return true;
}

static weft_coll_t tune_state_coll(const char *name)
{
    int coll = 0;
    while (coll < WEFT_COLL_COUNT && strcmp(weft_coll_name((weft_coll_t)coll), name) != 0) {
        coll++;
    }
    return (weft_coll_t)coll;
}

/* What no run writes, and no fit could use. */
static bool tune_state_is_result(const tune_result_t *result)
{
    const double times[] = {result->seconds, result->low, result->high, result->model};
    bool good = result->coll != WEFT_COLL_COUNT && result->bytes > 0 && result->bytes <= BYTES_MAX;
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        good = good && times[i] >= TIME_MIN && times[i] <= TIME_MAX;
    }
    return good;
}

/* Of a line that was cut when the run ended only the end may be missing, which is added before the
 * next line. */
static bool tune_state_read_line(const char *line, tune_result_t *result)
{
    char coll[TUNE_NAME_MAX], end = 0;
    int chosen = 0;
    *result = (tune_result_t){.coll = WEFT_COLL_COUNT};
    int n = sscanf(line, "%63s %" SCNu64 " %63s %lf %lf %lf %lf %d%c", coll, &result->bytes,
                   result->algo, &result->seconds, &result->low, &result->high, &result->model,
                   &chosen, &end);
    result->chosen = chosen != 0;
    bool whole = n == 8 || (n == 9 && end == '\n');
    result->coll = whole ? tune_state_coll(coll) : WEFT_COLL_COUNT;
    return tune_state_is_result(result);
}

/* False: it is of another job, or there is no such file. */
static bool tune_state_read(const char *path, const char *job, tune_results_t *results)
{
    char line[TUNE_JOB_MAX + 1]; /* with its end */
    tune_result_t result;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    bool same = fgets(line, sizeof line, file) != NULL && strncmp(line, job, strlen(job)) == 0 &&
                line[strlen(job)] == '\n';
    for (uint32_t number = 2; same && fgets(line, sizeof line, file) != NULL;) {
        if (tune_state_read_line(line, &result)) {
            if (!tune_state_keep(results, &result)) {
                break;
            }
        } else if (line[0] != '\n') {
            fprintf(stderr, "weft: note: %s:%u is no result and is passed over\n", path, number);
        }
        number += strchr(line, '\n') != NULL;
    }
    fclose(file);
    if (!same) {
        fprintf(stderr, "weft: note: %s is of another job and is written anew\n", path);
    }
    return same;
}

/* Whether there is something below the line that says of which job it is. What is no file, as a
 * pipe, is not moved. */
static bool tune_state_has_lines(const char *path)
{
    char line[TUNE_JOB_MAX + 1];
    struct stat info;
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "r") : NULL;
    bool more = file != NULL && fgets(line, sizeof line, file) != NULL;
    do {
        more = more && fgets(line, sizeof line, file) != NULL;
    } while (more && line[0] == '\n');
    if (file != NULL) {
        fclose(file);
    }
    return more;
}

/* Gives a state that has results another name: the run that begins anew may end before it has any.
 * Of a link that is the file to which it leads. False and one line on stderr if that cannot be
 * done. */
static bool tune_state_put_aside(const char *path)
{
    char old[PATH_MAX + sizeof ".old"], there[PATH_MAX];
    const char *file = path;
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        file = realpath(path, there);
    }
    /* A file without a name, as one behind /proc/self/fd may be, cannot have another one. */
    if (file == NULL || !tune_state_has_lines(path)) {
        return true;
    }
    snprintf(old, sizeof old, "%s.old", file);
    if (rename(file, old) != 0) {
        (void)tool_usage("cannot rename %s, to keep it: %s", path, strerror(errno));
        return false;
    }
    fprintf(stderr, "weft: note: what was in %s is in %s\n", path, old);
    return true;
}

/* Returns whether all that was written is in the file; if not, one line says why. */
static bool tune_state_is_written(FILE *file, const char *path)
{
    const bool written = fflush(file) == 0 && ferror(file) == 0;
    if (!written) {
        fprintf(stderr, "weft: cannot write %s: %s\n", path, strerror(errno));
    }
    return written;
}

bool tune_state_open(const char *path, const char *job, bool fresh, tune_results_t *results,
                     FILE **file_p)
{
    bool known = !fresh && tune_state_read(path, job, results);
    *file_p = NULL;
    if (!known && !tune_state_put_aside(path)) {
        return false;
    }
    *file_p = fopen(path, known ? "a" : "w");
    if (*file_p == NULL) {
        (void)tool_usage("cannot write %s: %s", path, strerror(errno));
        return false;
    }
    if (known) {
        fprintf(stderr, "weft: note: %s has %zu result%s already\n", path, results->count,
                weft_plural(results->count));
        fputc('\n', *file_p); /* ends a line that was cut */
    } else {
        fprintf(*file_p, "%s\n", job);
    }
    /* A run that ends before its first point leaves a state all the same. */
    return tune_state_is_written(*file_p, path);
}

bool tune_state_add(FILE *file, const char *path, tune_results_t *results,
                    const tune_result_t *more, uint32_t count)
{
    bool good = true;
    for (uint32_t i = count; i-- > 0 && good;) {
        const tune_result_t *r = &more[i];
        fprintf(file, "%s %" PRIu64 " %s %.9g %.9g %.9g %.9g %d\n", weft_coll_name(r->coll),
                r->bytes, r->algo, r->seconds, r->low, r->high, r->model, r->chosen);
        good = tune_state_keep(results, r);
    }
    return tune_state_is_written(file, path) && good;
}

bool tune_state_has(const tune_results_t *results, const tune_result_t *wanted, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (tune_state_find(results, &wanted[i]) == NULL) {
            return false;
        }
    }
    return true;
}
