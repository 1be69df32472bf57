/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Speed of the combinations of a kernel plugin: a table of GB/s stored to the first destination,
 * per instruction set, shape and size; medians. Usage: bench_kernel_combine PLUGIN.so [TYPE] */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/plugin/kernel.h>

#define REPEATS 15
#define TARGET_NS 200000.0 /* one repeat takes at least this long */
#define LARGEST ((size_t)32 << 20)

typedef struct shape {
    const char *name;
    uint32_t nsrc, ndst, nt_mask;
} shape_t;

static const shape_t shapes[] = {
    {"1>1", 1, 1, 0}, {"1>2", 1, 2, 0}, {"2>1", 2, 1, 0},  {"2>2", 2, 2, 0},
    {"3>1", 3, 1, 0}, {"4>1", 4, 1, 0}, {"2>1s", 2, 1, 1}, {"2>2s", 2, 2, 3},
};
#define NSHAPES (sizeof shapes / sizeof shapes[0])

static const size_t sizes[] = {8, 64, 256, 1024, 16384, 65536, 524288, 4194304, LARGEST};
#define NSIZES (sizeof sizes / sizeof sizes[0])

static void bench_log(const weft_host_t *host, weft_log_level_t level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

static weft_status_t bench_error(const weft_host_t *host, weft_status_t status, int os_errno,
                                 const char *format, ...)
{
    va_list args;
    (void)host;
    (void)os_errno;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    return status;
}

static void *bench_alloc(const weft_host_t *host, size_t bytes, size_t align)
{
    (void)host;
    (void)align;
    return calloc(1, bytes);
}

static void bench_free(const weft_host_t *host, void *memory)
{
    (void)host;
    free(memory);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of one call in ns. */
static double measure(weft_combine_fn_t fn, const weft_combine_t *c)
{
    double times[REPEATS];
    size_t calls = 1;
    for (int r = -1; r < REPEATS; r++) {
        double start = now_ns(), spent;
        for (size_t i = 0; i < calls; i++) {
            fn(c);
        }
        spent = now_ns() - start;
        if (r >= 0) {
            times[r] = spent / (double)calls;
        } else if (spent < TARGET_NS) {
            calls *= 2;
            r = -2;
        }
    }
    qsort(times, REPEATS, sizeof times[0], by_value);
    return times[REPEATS / 2];
}

static void print_rows(const char *isa, weft_combine_fn_t fn, size_t elem, uint8_t *const *buffers)
{
    for (size_t s = 0; s < NSHAPES; s++) {
        weft_combine_t c = {.nsrc = shapes[s].nsrc, .ndst = shapes[s].ndst, .nranks = 1};
        c.nt_mask = shapes[s].nt_mask;
        for (uint32_t i = 0; i < WEFT_COMBINE_MAX; i++) {
            c.src[i] = buffers[i];
            c.dst[i] = buffers[WEFT_COMBINE_MAX + i];
        }
        printf("%-7s %-5s", isa, shapes[s].name);
        for (size_t z = 0; z < NSIZES; z++) {
            c.count = sizes[z] / elem;
            double ns = measure(fn, &c);
            printf(sizes[z] < 1024 ? " %7.1fns" : " %9.2f",
                   sizes[z] < 1024 ? ns : (double)sizes[z] / ns);
            fflush(stdout);
        }
        printf("\n");
    }
}

static weft_dtype_t parse_type(const char *text, size_t *elem)
{
#define ROW(value, name, bytes, word) {word, bytes},
    static const struct {
        const char *word;
        size_t bytes;
    } types[] = {WEFT_DTYPE_MAP(ROW)};
#undef ROW
    for (int i = 0; i < WEFT_DTYPE_COUNT; i++) {
        if (strcmp(types[i].word, text) == 0) {
            *elem = types[i].bytes;
            return (weft_dtype_t)i;
        }
    }
    fprintf(stderr, "unknown type %s; one of those of weft/types.h, e.g. float\n", text);
    exit(2);
}

static const weft_plugin_t *open_plugin(const char *path)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = object != NULL ? dlsym(object, "weft_plugin_entry") : NULL;
    const weft_plugin_t *(*entry)(void);
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    memcpy(&entry, &symbol, sizeof entry);
    return entry();
}

int main(int argc, char **argv)
{
    const weft_host_t host = {.size = sizeof host,
                              .log = bench_log,
                              .set_error = bench_error,
                              .alloc = bench_alloc,
                              .free = bench_free};
    uint8_t *buffers[2 * WEFT_COMBINE_MAX];
    size_t elem = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s PLUGIN.so [TYPE]\n", argv[0]);
        return 2;
    }
    const weft_dtype_t dtype = parse_type(argc > 2 ? argv[2] : "float", &elem);
    const weft_plugin_t *plugin = open_plugin(argv[1]);
    const weft_kernel_ops_t *ops = plugin->ops;
    for (uint32_t i = 0; i < 2 * WEFT_COMBINE_MAX; i++) {
        buffers[i] = aligned_alloc(4096, LARGEST);
        if (buffers[i] == NULL) {
            return 2;
        }
        memset(buffers[i], 0, LARGEST);
    }
    printf("GB/s stored to one destination (ns per call below 1 KiB), %s sum, medians of %d\n%-13s",
           argc > 2 ? argv[2] : "float", REPEATS, "");
    for (size_t z = 0; z < NSIZES; z++) {
        printf(" %9zu", sizes[z]);
    }
    printf("\n");
    /* The config of kernel-cpu begins with the index of the instruction set; 1 is the plain C. */
    for (int64_t isa = 1; isa < 5; isa++) {
        struct {
            int64_t isa;
            uint64_t stream;
        } config = {isa, 1};
        weft_kernel_props_t props = {.size = sizeof props};
        weft_combine_fn_t fn;
        weft_kernel_t *kernel;
        if (ops->create(&host, &config, &kernel) == WEFT_OK) {
            ops->props(kernel, &props);
            ops->select(kernel, dtype, WEFT_SUM, &fn);
            print_rows(props.variant, fn, elem, buffers);
            ops->destroy(kernel);
        }
    }
    return 0;
}
