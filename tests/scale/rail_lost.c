/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that goes on when a device of its transport fails: it makes all-reduces of a mebibyte, and
 * after a failure as many again in the communicator that is left.
 *
 * Usage: rail_lost CALLS [--set SECTION.KEY=VALUE]…   RANK, WORLD_SIZE as torchrun gives them.
 * Exit code 0: the results are right, and a call failed in between. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

enum { COUNT = 1 << 18, SETTINGS_MAX = 16 };

static float send[COUNT], recv[COUNT];

static void must(weft_status_t status, const char *what)
{
    weft_error_t error = {.size = sizeof error};
    if (status != WEFT_OK) {
        (void)weft_last_error(&error);
        fprintf(stderr, "%s: %s: %s\n", what, weft_status_name(status), error.text);
        exit(1);
    }
}

static weft_status_t calls(weft_comm_t *comm, uint32_t nranks, int count)
{
    weft_status_t status = WEFT_OK;
    for (int i = 0; i < count && status == WEFT_OK; i++) {
        for (uint32_t j = 0; j < COUNT; j++) {
            send[j] = (float)(j % 64);
        }
        status = weft_all_reduce(send, recv, COUNT, WEFT_FP32, WEFT_SUM, comm, NULL);
        for (uint32_t j = 0; status == WEFT_OK && j < COUNT; j++) {
            if (recv[j] != (float)(nranks * (j % 64))) {
                fprintf(stderr, "element %u of call %d is %g\n", j, i, (double)recv[j]);
                exit(1);
            }
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *settings[SETTINGS_MAX];
    uint32_t nsettings = 0, nranks = 0, after = 0;
    weft_comm_t *comm = NULL, *next = NULL;
    weft_error_t error = {.size = sizeof error};
    for (int i = 2; i + 1 < argc && nsettings < SETTINGS_MAX; i += 2) {
        settings[nsettings++] = argv[i + 1];
    }
    weft_comm_options_t options = {.size = sizeof options,
                                   .config = "/dev/null",
                                   .settings = settings,
                                   .settings_count = nsettings};
    must(weft_comm_init_launcher(&comm, &options), "join");
    must(weft_comm_size(comm, &nranks), "size");
    if (calls(comm, nranks, atoi(argv[1])) == WEFT_OK) {
        fprintf(stderr, "no call failed\n");
        return 2;
    }
    must(weft_comm_error(comm, &error), "error");
    printf("%s: %s\n", weft_status_name(error.status), error.text);
    fflush(stdout);
    must(weft_comm_revoke(comm), "revoke");
    must(weft_comm_shrink(comm, NULL, 0, &next), "shrink");
    must(weft_comm_destroy(comm), "destroy");
    must(weft_comm_size(next, &after), "size");
    must(calls(next, after, 8), "after the failure");
    printf("%u ranks go on\n", after);
    must(weft_comm_destroy(next), "destroy");
    return after != nranks;
}
