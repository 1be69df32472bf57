/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speeds of ports, from /sys. */
#include "hwloc_speed.h"

#include <locale.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

double hwloc_number(const char *text, char **end_p)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = 0;
    *end_p = (char *)(uintptr_t)text;
    if (plain != (locale_t)0) {
        value = strtod_l(text, end_p, plain);
        freelocale(plain);
    }
    return value;
}

/* A number at the beginning of a small file, or 0. */
static double hwloc_speed_read(const char *folder, const char *name, const char *below)
{
    char path[200];
    double value = 0;
    if (snprintf(path, sizeof path, "/sys/class/%s/%s/%s", folder, name, below) >=
        (int)sizeof path) {
        return 0;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    char text[64], *end;
    if (fgets(text, sizeof text, file) != NULL) {
        value = hwloc_number(text, &end);
    }
    value = value > 0 && value < 1e8 ? value : 0;
    fclose(file);
    return value;
}

double hwloc_port_speed(const char *names)
{
    double speed = 0;
    char name[64];
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        if (length < sizeof name) {
            snprintf(name, sizeof name, "%.*s", (int)length, names);
            /* "400 Gb/sec (4X NDR)", and a number of Mbit/s */
            const double rate = 1e9 / 8 * hwloc_speed_read("infiniband", name, "ports/1/rate");
            const double link = 1e6 / 8 * hwloc_speed_read("net", name, "speed");
            speed = rate > speed ? rate : speed;
            speed = link > speed ? link : speed;
        }
        names += length + (names[length] == ' ' ? 1 : 0);
    }
    return speed;
}
