/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu-limits LARGEST: what bounds every collective on a device: the time of a launch that is waited
 * for, and that of the driver's copy of 8 bytes, 16, … LARGEST. The median of several series
 * each. */
#include "device.h"
#include "line.h"

#define SERIES 9
#define LAUNCHES 200u
#define ENOUGH ((size_t)1 << 30) /* bytes of a series, or */
#define MOST 100u                /* copies */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of)
{
    qsort(of, SERIES, sizeof *of, compare);
    return of[SERIES / 2];
}

static bool time_launches(void)
{
    double us[SERIES];
    bool good = device_launch();
    for (int s = 0; s < SERIES; s++) {
        double begin = device_seconds();
        for (uint32_t i = 0; i < LAUNCHES; i++) {
            good = device_launch() && good;
        }
        us[s] = 1e6 * (device_seconds() - begin) / LAUNCHES;
    }
    line_print("launch and wait", good, median(us), "us");
    return good;
}

static bool time_copies(void *to, const void *from, size_t bytes)
{
    double us[SERIES];
    char what[48];
    const size_t rounds = ENOUGH / bytes > MOST ? MOST : ENOUGH / bytes + 1;
    bool good = device_copy(to, from, bytes) && device_wait();
    for (int s = 0; s < SERIES; s++) {
        double begin = device_seconds();
        for (size_t i = 0; i < rounds; i++) {
            good = device_copy(to, from, bytes) && good;
        }
        good = device_wait() && good;
        us[s] = 1e6 * (device_seconds() - begin) / (double)rounds;
    }
    snprintf(what, sizeof what, "copy of %zu bytes", bytes);
    line_print(what, good, median(us), "us");
    return good;
}

int main(int argc, char **argv)
{
    const size_t largest = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 0;
    if (largest < 8) {
        fprintf(stderr, "usage: %s LARGEST, in bytes, at least 8\n", argv[0]);
        return 2;
    }
    void *to = device_alloc(largest), *from = device_alloc(largest);
    bool good = to != NULL && from != NULL;
    if (!good) {
        fprintf(stderr, "cannot allocate twice %zu bytes on the device\n", largest);
    }
    good = time_launches() && good;
    for (size_t bytes = 8; to != NULL && from != NULL && bytes <= largest; bytes *= 2) {
        good = time_copies(to, from, bytes) && good;
    }
    device_free(to);
    device_free(from);
    return !good;
}
