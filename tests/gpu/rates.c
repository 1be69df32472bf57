/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast the device copies, and how near combinations come to that. A copy of N bytes moves 2·N;
 * a sum of two sources into one destination 3·N. */
#include "check.h"
#include "device.h"
#include "line.h"

#define BYTES ((size_t)256 << 20)
#define ROUNDS 20

static double copy_rate(void *to, const void *from)
{
    bool good = device_copy(to, from, BYTES) && device_wait();
    double begin = device_seconds();
    for (int i = 0; i < ROUNDS; i++) {
        good = device_copy(to, from, BYTES) && good;
    }
    good = device_wait() && good;
    return good ? 2.0 * ROUNDS * (double)BYTES / (device_seconds() - begin) : 0;
}

static double combine_rate(weft_combine_fn_t fn, const weft_combine_t *c)
{
    fn(c);
    double begin = device_seconds();
    for (int i = 0; i < ROUNDS; i++) {
        fn(c);
    }
    return (c->nsrc + c->ndst) * (double)ROUNDS * (double)BYTES / (device_seconds() - begin);
}

void check_rates(check_t *check)
{
    static const struct {
        weft_dtype_t dtype;
        uint32_t bytes, nsrc;
        const char *name;
    } cases[] = {{WEFT_FP32, 4, 1, "copy of float by the plugin"},
                 {WEFT_FP32, 4, 2, "sum of two float"},
                 {WEFT_BF16, 2, 2, "sum of two bfloat16"},
                 {WEFT_FP8_E4M3, 1, 2, "sum of two f8e4m3"},
                 {WEFT_FP32, 4, 4, "sum of four float"}};
    uint8_t *memory[5] = {NULL};
    bool ready = true;
    for (int i = 0; i < 5; i++) {
        memory[i] = device_alloc(BYTES);
        ready = ready && memory[i] != NULL;
    }
    double limit = ready ? copy_rate(memory[0], memory[1]) : 0;
    check->failures += limit <= 0;
    line_print("copy by the driver", limit > 0, limit / 1e9, "GB/s moved");
    for (size_t i = 0; ready && i < sizeof cases / sizeof cases[0]; i++) {
        weft_combine_t c = {.src = {memory[1], memory[2], memory[3], memory[4]},
                            .dst = {memory[0]},
                            .count = BYTES / cases[i].bytes,
                            .nsrc = cases[i].nsrc,
                            .ndst = 1};
        weft_combine_fn_t fn = NULL;
        bool good =
            check->ops[0]->select(check->kernel[0], cases[i].dtype, WEFT_SUM, &fn) == WEFT_OK;
        double rate = good ? combine_rate(fn, &c) : 0;
        check->failures += !good;
        line_ratio(cases[i].name, good, rate / 1e9, "GB/s moved", rate / limit, "driver's copy");
    }
    for (int i = 0; i < 5; i++) {
        device_free(memory[i]);
    }
}
