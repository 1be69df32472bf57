/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a job hold: taking, printing. */
#include "tools/holdings_summary.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/handle.h"

_Static_assert(HOLDINGS_KINDS == WEFT_HOLDING_COUNT, "a row for each kind");

#define KIB 1024.0

/* Returns the bytes that the system counts under `key`, "Rss:" or "Pss:"; 0: it does not tell. */
static double holdings_process_bytes(const char *key)
{
    char line[256];
    double bytes = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            bytes = strtod(line + strlen(key), NULL) * KIB;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static double holdings_open_descriptors(void)
{
    const struct dirent *entry;
    double count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count > 0 ? count - 1 : 0; /* one of them lists the others */
}

weft_status_t holdings_summary_take(weft_comm_t *comm, uint32_t nranks, holdings_summary_t *held)
{
    weft_holdings_t holdings;
    weft_status_t status = weft_comm_holdings(comm, &holdings);
    if (status != WEFT_OK) {
        return status;
    }
    held->nranks = nranks;
    for (uint32_t i = 0; i < WEFT_HOLDING_COUNT; i++) {
        const weft_holding_t *kind = &holdings.kind[i];
        double *row = &held->sum[i * HOLDINGS_EACH];
        row[HOLDINGS_BYTES] = (double)kind->bytes;
        row[HOLDINGS_LIMIT] =
            kind->limit != WEFT_HOLDING_UNBOUNDED ? (double)kind->limit : (double)INFINITY;
        row[HOLDINGS_FDS] = kind->descriptors;
        row[HOLDINGS_FDS_LIMIT] = kind->descriptors_limit;
    }
    double *process = &held->sum[HOLDINGS_KINDS * HOLDINGS_EACH];
    process[HOLDINGS_RESIDENT] = holdings_process_bytes("Rss:");
    process[HOLDINGS_SHARE] = holdings_process_bytes("Pss:");
    process[HOLDINGS_OPEN] = holdings_open_descriptors();
    memcpy(held->most, held->sum, sizeof held->most);
    return WEFT_OK;
}

static void holdings_print_row(const char *prefix, const char *name, const double sum[],
                               const double most[], double nranks)
{
    char limit[32] = "by calls";
    if (isfinite(most[HOLDINGS_LIMIT])) {
        snprintf(limit, sizeof limit, "%.1f", most[HOLDINGS_LIMIT] / KIB);
    }
    printf("%s%-20s %10.1f %10.1f %12s", prefix, name, sum[HOLDINGS_BYTES] / nranks / KIB,
           most[HOLDINGS_BYTES] / KIB, limit);
    if (most[HOLDINGS_FDS_LIMIT] > 0) {
        printf(" %8.1f %6.0f %6.0f", sum[HOLDINGS_FDS] / nranks, most[HOLDINGS_FDS],
               most[HOLDINGS_FDS_LIMIT]);
    }
    printf("\n");
}

static void holdings_print_process(const char *prefix, const holdings_summary_t *held)
{
    const double *sum = &held->sum[HOLDINGS_KINDS * HOLDINGS_EACH];
    const double *most = &held->most[HOLDINGS_KINDS * HOLDINGS_EACH];
    double n = held->nranks;
    printf("%s%-20s %10.1f %10.1f\n", prefix, "process: resident", sum[HOLDINGS_RESIDENT] / n / KIB,
           most[HOLDINGS_RESIDENT] / KIB);
    printf("%s%-20s %10.1f %10.1f %12s %8.1f %6.0f\n", prefix, "process: share (PSS)",
           sum[HOLDINGS_SHARE] / n / KIB, most[HOLDINGS_SHARE] / KIB, "", sum[HOLDINGS_OPEN] / n,
           most[HOLDINGS_OPEN]);
}

void holdings_summary_print(const holdings_summary_t *held, const char *prefix)
{
    double sum[HOLDINGS_EACH] = {0}, most[HOLDINGS_EACH] = {0};
    printf("%s%-20s %10s %10s %12s %8s %6s %6s\n", prefix, "KiB of a rank", "mean", "most",
           "at most", "fds mean", "most", "limit");
    for (uint32_t i = 0; i < HOLDINGS_KINDS; i++) {
        const double *of_kind = &held->sum[i * HOLDINGS_EACH];
        holdings_print_row(prefix, weft_holding_name((weft_holding_kind_t)i), of_kind,
                           &held->most[i * HOLDINGS_EACH], held->nranks);
        for (uint32_t j = 0; j < HOLDINGS_EACH; j++) {
            sum[j] += of_kind[j];
            most[j] += held->most[i * HOLDINGS_EACH + j];
        }
    }
    holdings_print_row(prefix, "together", sum, most, held->nranks);
    holdings_print_process(prefix, held);
}

void holdings_summary_json(const holdings_summary_t *held, json_t *json, const char *key)
{
    double n = held->nranks;
    const double *sum = held->sum, *most = held->most;
    json_open(json, key, '{');
    json_unsigned(json, "ranks", held->nranks);
    json_open(json, "kinds", '[');
    for (uint32_t i = 0; i < HOLDINGS_KINDS; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", weft_holding_name((weft_holding_kind_t)i));
        json_real(json, "bytes_mean", sum[HOLDINGS_BYTES] / n);
        json_real(json, "bytes_most", most[HOLDINGS_BYTES]);
        json_real(json, "bytes_limit", most[HOLDINGS_LIMIT]);
        json_real(json, "descriptors_mean", sum[HOLDINGS_FDS] / n);
        json_real(json, "descriptors_most", most[HOLDINGS_FDS]);
        json_real(json, "descriptors_limit", most[HOLDINGS_FDS_LIMIT]);
        json_close(json, '}');
        sum += HOLDINGS_EACH;
        most += HOLDINGS_EACH;
    }
    json_close(json, ']');
    json_open(json, "process", '{');
    json_real(json, "resident_mean", sum[HOLDINGS_RESIDENT] / n);
    json_real(json, "resident_most", most[HOLDINGS_RESIDENT]);
    json_real(json, "share_mean", sum[HOLDINGS_SHARE] / n);
    json_real(json, "share_most", most[HOLDINGS_SHARE]);
    json_real(json, "descriptors_mean", sum[HOLDINGS_OPEN] / n);
    json_real(json, "descriptors_most", most[HOLDINGS_OPEN]);
    json_close(json, '}');
    json_close(json, '}');
}
