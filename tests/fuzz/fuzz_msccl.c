/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program of MSCCL as XML, as far as its check. Where the input ends with the byte 255 and a
 * number, that allocation fails. */
#include "fuzz.h"
#include "msccl_read.h"
#include "tests/support/fake_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static fake_host_t fake;
    msccl_program_t *program = NULL;
    uint64_t fails = 0;
    if (fake.name == NULL) {
        fake_host_init(&fake, "fuzz");
    }
    if (bytes >= 2 && data[bytes - 2] == 255) {
        fails = atomic_load(&fake.allocs) + data[bytes - 1] + 1;
        bytes -= 2;
    }
    char *text = fuzz_text(data, bytes);
    fake.error[0] = '\0';
    atomic_store(&fake.fail_at, fails);
    weft_status_t status = msccl_read(&fake.host, "fuzz.xml", text, bytes, &program);
    atomic_store(&fake.fail_at, 0);
    if (status == WEFT_OK) {
        msccl_destroy(program);
    } else {
        FUZZ_NEED(program == NULL && fake.error[0] != '\0');
        FUZZ_NEED(status == WEFT_ERR_RESOURCE || strncmp(fake.error, "fuzz.xml", 8) == 0);
    }
    FUZZ_NEED(atomic_load(&fake.live) == 0);
    free(text);
    return 0;
}
