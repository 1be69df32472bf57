/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of MSCCL as XML, as far as its check. */
#include "fuzz.h"
#include "msccl_read.h"
#include "tests/support/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static fake_host_t fake;
    msccl_program_t *program = NULL;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    char *text = fuzz_text(data, bytes);
    if (msccl_read(&fake.host, "fuzz.xml", text, bytes, &program) == WEFT_OK) {
        msccl_destroy(program);
    }
    FUZZ_NEED(atomic_load(&fake.live) == 0);
    free(text);
    return 0;
}
