/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target without libFuzzer: replay COPIES FOLDER… calls it with every file of the
 * folders, and with about so many damaged copies of them. The damage is the same in every run. */
#include <dirent.h>

#include "fuzz.h"

#define FILES_MAX 1024
#define INPUT_MAX ((size_t)1 << 16)

typedef struct replay_input {
    char name[256];
    uint8_t *data;
    size_t bytes;
} replay_input_t;

static replay_input_t inputs[FILES_MAX];
static size_t count;
static uint64_t seed;

/* xorshift64* (Vigna 2016). */
static uint64_t replay_random(uint64_t below)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(0x2545f4914f6cdd1d) % (below > 0 ? below : 1);
}

static void replay_read(const char *folder, const char *name)
{
    char path[4096];
    replay_input_t *input = &inputs[count];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    FUZZ_NEED(file != NULL && count < FILES_MAX);
    input->data = malloc(INPUT_MAX);
    FUZZ_NEED(input->data != NULL);
    input->bytes = fread(input->data, 1, INPUT_MAX, file);
    snprintf(input->name, sizeof input->name, "%s", name);
    fclose(file);
    count++;
}

static int replay_by_name(const void *a, const void *b)
{
    return strcmp(((const replay_input_t *)a)->name, ((const replay_input_t *)b)->name);
}

static void replay_read_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    FUZZ_NEED(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] != '.') {
            replay_read(folder, entry->d_name);
        }
    }
    closedir(dir);
}

/* Replaces `gone` bytes at `at` by `come` bytes of `from`. */
static size_t replay_splice(uint8_t *data, size_t bytes, size_t at, size_t gone,
                            const uint8_t *from, size_t come)
{
    if (bytes - gone + come > INPUT_MAX) {
        return bytes;
    }
    memmove(data + at + come, data + at + gone, bytes - at - gone);
    memcpy(data + at, from, come);
    return bytes - gone + come;
}

static size_t replay_damage(uint8_t *data, size_t bytes)
{
    static const uint8_t bad[] = {0, 1, 0x7f, 0x80, 0xff, '\n', '-', '9', '<', '"', '[', '='};
    const replay_input_t *other = &inputs[replay_random(count)];
    size_t at = replay_random(bytes), left = bytes - at;
    size_t length = replay_random((left < 64 ? left : 64) + 1);
    size_t start = replay_random(other->bytes);
    size_t most = other->bytes - start < 64 ? other->bytes - start : 64;
    uint8_t part[64];
    if (bytes == 0) {
        return 0;
    }
    switch (replay_random(6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << replay_random(8));
        return bytes;
    case 1:
        data[at] = bad[replay_random(sizeof bad)];
        return bytes;
    case 2:
        return replay_splice(data, bytes, at, length, data, 0);
    case 3:
        memcpy(part, data + at, length);
        return replay_splice(data, bytes, replay_random(bytes), 0, part, length);
    case 4:
        return replay_splice(data, bytes, at, length, other->data + start, replay_random(most + 1));
    default:
        return at;
    }
}

static void replay_run(const replay_input_t *input, unsigned long copies)
{
    uint8_t *work = malloc(INPUT_MAX);
    FUZZ_NEED(work != NULL);
    for (unsigned long m = 0; m <= copies; m++) {
        size_t bytes = input->bytes;
        memcpy(work, input->data, bytes);
        for (uint64_t i = m == 0 ? 0 : 1 + replay_random(8); i > 0; i--) {
            bytes = replay_damage(work, bytes);
        }
        uint8_t *exact = malloc(bytes > 0 ? bytes : 1);
        FUZZ_NEED(exact != NULL);
        memcpy(exact, work, bytes);
        (void)LLVMFuzzerTestOneInput(exact, bytes);
        free(exact);
    }
    free(work);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s COPIES FOLDER...\n", argv[0]);
        return 2;
    }
    for (int folder = 2; folder < argc; folder++) {
        replay_read_folder(argv[folder]);
    }
    FUZZ_NEED(count > 0);
    qsort(inputs, count, sizeof *inputs, replay_by_name);
    unsigned long copies = strtoul(argv[1], NULL, 10) / count;
    for (size_t i = 0; i < count; i++) {
        seed = UINT64_C(0x9e3779b97f4a7c15) + i;
        replay_run(&inputs[i], copies);
    }
    printf("%zu inputs, %lu damaged copies of each\n", count, copies);
    for (size_t i = 0; i < count; i++) {
        free(inputs[i].data);
    }
    return 0;
}
