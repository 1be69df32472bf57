/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The topology file of a site. */
#include "core/topo/site.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/os/os.h"
#include "core/topo/site_pattern.h"

#define SITE_HOST_MAX 256u
#define BLANKS " \t\r"

/* A line with hosts. Texts lie in the site's copy of the file. */
typedef struct site_line {
    uint32_t number;
    uint32_t group[WEFT_SITE_LEVELS_MAX];
    char *hosts; /* patterns, each ended by NUL */
    uint32_t nhosts;
} site_line_t;

struct weft_site {
    char path[256];
    char *text;
    site_line_t *lines;
    uint32_t nlines, levels;
    uint64_t hash;
    /* By level: the path of each group up to that level. */
    char **names[WEFT_SITE_LEVELS_MAX];
    uint32_t groups[WEFT_SITE_LEVELS_MAX];
};

static weft_status_t site_refuse(const weft_site_t *site, uint32_t line, const char *why,
                                 const char *text)
{
    return weft_fail(WEFT_ERR_CONFIG, 0, "%s:%u: %s%s%.80s%s", site->path, line, why,
                     text[0] != '\0' ? ": \"" : "", text, text[0] != '\0' ? "\"" : "");
}

static void site_hash_text(weft_site_t *site, const char *text)
{
    do { /* FNV-1a, with the NUL between texts */
        site->hash = (site->hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    } while (*text++ != '\0');
}

/* Finds or adds the group that `path` names on a level. */
static weft_status_t site_add_group(weft_site_t *site, uint32_t level, const char *path,
                                    size_t bytes, uint32_t *group_p)
{
    uint32_t n = site->groups[level];
    char **names = site->names[level];
    for (uint32_t i = n; i-- > 0;) {
        if (strncmp(names[i], path, bytes) == 0 && names[i][bytes] == '\0') {
            *group_p = i;
            return WEFT_OK;
        }
    }
    names[n] = weft_os_alloc(bytes + 1, 0);
    if (names[n] == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %s", site->path);
    }
    memcpy(names[n], path, bytes);
    *group_p = n;
    site->groups[level] = n + 1;
    return WEFT_OK;
}

/* "rack1/switch2": a group on each level. */
static weft_status_t site_take_path(weft_site_t *site, site_line_t *line, const char *path)
{
    uint32_t level = 0;
    const char *at = path;
    for (;; at++, level++) {
        size_t part = strcspn(at, "/");
        if (part == 0) {
            return site_refuse(site, line->number, "a part of the path is empty", path);
        }
        if (level == WEFT_SITE_LEVELS_MAX) {
            return site_refuse(site, line->number, "more than 4 levels in the path", path);
        }
        at += part;
        weft_status_t status =
            site_add_group(site, level, path, (size_t)(at - path), &line->group[level]);
        if (status != WEFT_OK) {
            return status;
        }
        if (*at == '\0') {
            break;
        }
    }
    if (site->levels != 0 && site->levels != level + 1) {
        char why[96];
        snprintf(why, sizeof why, "%u levels in the path, but %u in line %u", level + 1,
                 site->levels, site->lines[0].number);
        return site_refuse(site, line->number, why, path);
    }
    site->levels = level + 1;
    return WEFT_OK;
}

/* Cuts the line into words; the first is the path, the others are hosts. */
static weft_status_t site_take_line(weft_site_t *site, uint32_t number, char *text)
{
    site_line_t *line = &site->lines[site->nlines];
    text[strcspn(text, "#")] = '\0';
    char *path = text + strspn(text, BLANKS);
    if (*path == '\0') {
        return WEFT_OK;
    }
    *line = (site_line_t){.number = number};
    char *at = path + strcspn(path, BLANKS), *put;
    at += *at != '\0' ? (*at = '\0', 1) : 0;
    line->hosts = put = at;
    site_hash_text(site, path);
    for (at += strspn(at, BLANKS); *at != '\0'; at += strspn(at, BLANKS)) {
        size_t bytes = strcspn(at, BLANKS);
        bool last = at[bytes] == '\0';
        memmove(put, at, bytes);
        put[bytes] = '\0';
        const char *wrong = bytes < SITE_HOST_MAX ? weft_site_pattern_check(put) : "a long name";
        if (wrong != NULL) {
            return site_refuse(site, number, wrong, put);
        }
        site_hash_text(site, put);
        put += bytes + 1;
        at += bytes + (last ? 0 : 1);
        line->nhosts++;
    }
    if (line->nhosts == 0) {
        return site_refuse(site, number, "a path without hosts", path);
    }
    weft_status_t status = site_take_path(site, line, path);
    site->nlines += status == WEFT_OK;
    return status;
}

static weft_status_t site_take_text(weft_site_t *site)
{
    uint32_t number = 0;
    weft_status_t status = WEFT_OK;
    for (char *at = site->text, *next; status == WEFT_OK && at != NULL; at = next) {
        next = strchr(at, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        status = site_take_line(site, ++number, at);
    }
    if (status == WEFT_OK && site->nlines == 0) {
        status = site_refuse(site, number, "no line names a path and hosts", "");
    }
    return status;
}

static weft_status_t site_allocate(weft_site_t *site, const char *text)
{
    size_t bytes = strlen(text), lines = 1;
    for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        lines++;
    }
    site->text = weft_os_alloc(bytes + 1, 0);
    site->lines = weft_os_alloc(lines * sizeof *site->lines, 0);
    bool good = site->text != NULL && site->lines != NULL;
    for (uint32_t level = 0; level < WEFT_SITE_LEVELS_MAX; level++) {
        site->names[level] = weft_os_alloc(lines * sizeof *site->names[level], 0);
        good = good && site->names[level] != NULL;
    }
    if (!good) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %s", site->path);
    }
    memcpy(site->text, text, bytes);
    return WEFT_OK;
}

weft_status_t weft_site_parse(const char *path, const char *text, weft_site_t **site_p)
{
    weft_site_t *site = weft_os_alloc(sizeof *site, 0);
    if (site == NULL) {
        return weft_fail(WEFT_ERR_RESOURCE, ENOMEM, "no memory for %s", path);
    }
    site->hash = UINT64_C(0xcbf29ce484222325);
    snprintf(site->path, sizeof site->path, "%s", path);
    weft_status_t status = site_allocate(site, text);
    status = status == WEFT_OK ? site_take_text(site) : status;
    if (status != WEFT_OK) {
        weft_site_free(site);
        return status;
    }
    *site_p = site;
    return WEFT_OK;
}

weft_status_t weft_site_read(const char *path, weft_site_t **site_p)
{
    char *text = NULL;
    size_t bytes;
    int error = 0;
    weft_status_t status = weft_os_read_file(path, WEFT_SITE_BYTES_MAX, &text, &bytes, &error);
    if (error == EINVAL) {
        return weft_fail(WEFT_ERR_CONFIG, 0, "[core] topology: %s is no regular file", path);
    }
    if (status != WEFT_OK) {
        return weft_fail(error == ENOMEM ? status : WEFT_ERR_CONFIG, error,
                         "[core] topology: cannot read %s%s", path,
                         error == EFBIG ? ": more than 4 MiB" : "");
    }
    if (strlen(text) != bytes) {
        status = weft_fail(WEFT_ERR_CONFIG, 0, "%s: NUL byte, expected plain text", path);
    } else {
        status = weft_site_parse(path, text, site_p);
    }
    weft_os_free(text);
    return status;
}

void weft_site_free(weft_site_t *site)
{
    if (site == NULL) {
        return;
    }
    for (uint32_t level = 0; level < WEFT_SITE_LEVELS_MAX; level++) {
        for (uint32_t i = 0; i < site->groups[level]; i++) {
            weft_os_free(site->names[level][i]);
        }
        weft_os_free(site->names[level]);
    }
    weft_os_free(site->lines);
    weft_os_free(site->text);
    weft_os_free(site);
}

uint32_t weft_site_levels(const weft_site_t *site)
{
    return site->levels;
}

uint32_t weft_site_groups(const weft_site_t *site, uint32_t level)
{
    return site->groups[level];
}

const char *weft_site_name(const weft_site_t *site, uint32_t level, uint32_t group)
{
    return site->names[level][group];
}

uint64_t weft_site_hash(const weft_site_t *site)
{
    return site->hash;
}

/* A pattern without a dot is about names without a domain. */
static bool site_fits(const char *pattern, const char *host, const char *brief)
{
    return weft_site_pattern_fits(pattern, host) ||
           (strchr(pattern, '.') == NULL && weft_site_pattern_fits(pattern, brief));
}

weft_status_t weft_site_find(const weft_site_t *site, const char *host,
                             uint32_t groups[WEFT_SITE_LEVELS_MAX])
{
    char brief[SITE_HOST_MAX];
    const char *near_host = NULL;
    uint32_t near_line = 0;
    size_t nearness = 0;
    snprintf(brief, sizeof brief, "%.*s", (int)strcspn(host, "."), host);
    for (uint32_t i = 0; i < site->nlines; i++) {
        const site_line_t *line = &site->lines[i];
        const char *pattern = line->hosts;
        for (uint32_t k = 0; k < line->nhosts; k++, pattern += strlen(pattern) + 1) {
            if (site_fits(pattern, host, brief)) {
                memcpy(groups, line->group, sizeof line->group);
                return WEFT_OK;
            }
            size_t common = weft_site_pattern_nearness(pattern, host);
            if (near_host == NULL || common > nearness) {
                near_host = pattern;
                near_line = line->number;
                nearness = common;
            }
        }
    }
    return weft_fail(WEFT_ERR_CONFIG, 0,
                     "host \"%s\" is in no line of %s; the nearest is line %u, \"%s\" (a line that "
                     "ends with * takes the hosts that no other line names)",
                     host, site->path, near_line, near_host);
}
