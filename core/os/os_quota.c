/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See os_quota.h. */
#include "core/os/os_quota.h"

#include <stdio.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/os/os.h"

#define QUOTA_FILE_MOST 4096u

/* Reads the first `want` numbers of a file. Returns whether there are so many. */
static bool quota_numbers(const char *folder, const char *name, long long *numbers, int want)
{
    char path[512], *text = NULL;
    size_t bytes;
    int error, found = 0;
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < (int)sizeof path &&
        weft_os_read_file(path, QUOTA_FILE_MOST, &text, &bytes, &error) == WEFT_OK) {
        found = sscanf(text, "%lld %lld", &numbers[0], &numbers[1]);
        weft_os_free(text);
    }
    return found >= want;
}

static weft_os_quota_t quota_make(const char *folder, long long quota, long long period)
{
    weft_os_quota_t made = {.cpus = 0};
    struct stat group;
    if (quota > 0 && period > 0 && stat(folder, &group) == 0) {
        long long cpus = quota / period + (quota % period > 0);
        made.cpus = cpus < INT32_MAX ? (uint32_t)cpus : INT32_MAX;
        made.group = group.st_ino;
    }
    return made;
}

weft_os_quota_t weft_os_quota_read(const char *folder)
{
    char first[512];
    long long quota[2] = {0}, period[2] = {0};
    weft_os_quota_t found = {.cpus = 0};
    const weft_error_t kept = *weft_error_record();
    snprintf(first, sizeof first, "%s/cpu", folder);
    if (quota_numbers(folder, "cpu.max", quota, 2)) { /* version 2; "max" is no number */
        found = quota_make(folder, quota[0], quota[1]);
    } else if (quota_numbers(first, "cpu.cfs_quota_us", quota, 1) &&
               quota_numbers(first, "cpu.cfs_period_us", period, 1)) { /* version 1 */
        found = quota_make(first, quota[0], period[0]);
    }
    *weft_error_record() = kept;
    return found;
}

weft_os_quota_t weft_os_quota_here(void)
{
    return weft_os_quota_read("/sys/fs/cgroup");
}
