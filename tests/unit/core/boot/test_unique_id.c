/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unique ids as bytes. */
#include <stdio.h>
#include <string.h>
#include <sodium.h>

#include "core/base/error.h"
#include "core/boot/id_create.h"
#include "core/boot/unique_id.h"
#include "core/boot/wire.h"
#include "core/os/os.h"
#include "tests/support/unit.h"

static weft_id_t sample(void)
{
    weft_id_t id = {.created = (uint32_t)weft_os_wall_s(), .life = 10, .count = 2};
    id.addrs[0] = (weft_os_addr_t){.family = 4, .port = 4711, .bytes = {10, 1, 2, 3}};
    id.addrs[1] = (weft_os_addr_t){.family = 6, .port = 4712, .bytes = {0xfd, 1}};
    memset(id.secret, 0xab, sizeof id.secret);
    memset(id.nonce, 0xcd, sizeof id.nonce);
    return id;
}

static void an_id_survives_its_bytes(void **unused)
{
    (void)unused;
    weft_id_t in = sample(), out;
    weft_unique_id_t bytes;
    weft_id_encode(&in, &bytes);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_OK);
    assert_memory_equal(&in, &out, sizeof in);
    assert_true(weft_id_comm(&in) == weft_id_comm(&out));
}

static void an_id_that_rank_0_made_says_so(void **unused)
{
    (void)unused;
    weft_id_t in = sample(), out;
    weft_unique_id_t bytes;
    weft_id_encode(&in, &bytes);
    assert_int_equal(weft_id_mark_rank_0(&bytes), WEFT_OK);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_OK);
    assert_true(out.by_rank_0);
    in.by_rank_0 = true;
    assert_memory_equal(&in, &out, sizeof in);
    memset(&bytes, 0, sizeof bytes);
    assert_int_equal(weft_id_mark_rank_0(&bytes), WEFT_ERR_ARG);
}

static void a_changed_byte_anywhere_is_refused(void **unused)
{
    (void)unused;
    weft_id_t in = sample(), out;
    weft_unique_id_t bytes;
    for (size_t at = 0; at < sizeof bytes.bytes; at++) {
        weft_id_encode(&in, &bytes);
        bytes.bytes[at] ^= 0x10;
        assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
    }
    memset(&bytes, 0, sizeof bytes);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
}

static void a_well_formed_id_with_bad_addresses_is_refused(void **unused)
{
    (void)unused;
    weft_id_t in = sample(), out;
    weft_unique_id_t bytes;
    in.addrs[1].family = 5;
    weft_id_encode(&in, &bytes);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
    in = sample();
    in.addrs[0].port = 0;
    weft_id_encode(&in, &bytes);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
    in = sample();
    in.count = 0;
    weft_id_encode(&in, &bytes);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
}

static void an_id_expires_after_its_life(void **unused)
{
    (void)unused;
    weft_id_t id = sample();
    assert_false(weft_id_expired(&id));
    id.created -= 12;
    assert_true(weft_id_expired(&id));
    id.life = 0;
    assert_false(weft_id_expired(&id));
}

static void keys_depend_on_purpose_secret_and_nonce(void **unused)
{
    (void)unused;
    uint8_t a[32], b[32], c[32], d[32];
    weft_id_t id = sample(), other = sample(), third = sample();
    other.secret[0] ^= 1;
    third.nonce[0] ^= 1;
    weft_id_key(&id, "tree", a);
    weft_id_key(&id, "root", b);
    weft_id_key(&other, "tree", c);
    weft_id_key(&third, "tree", d);
    assert_memory_not_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    assert_memory_not_equal(a, d, sizeof a);
}

static void an_interface_that_does_not_exist_is_named(void **unused)
{
    (void)unused;
    weft_boot_settings_t settings = {.init_timeout = 1, .interface = "=nothere"};
    weft_unique_id_t id;
    assert_int_equal(weft_boot_id_create(&settings, &id), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "boot.interface = =nothere"));
}

/* The one that older builds made, with their checksum. */
static void an_id_of_another_version_is_refused_with_both(void **unused)
{
    (void)unused;
    weft_id_t in = sample(), out;
    weft_unique_id_t bytes;
    char versions[64];
    uint8_t sum[16];
    weft_id_encode(&in, &bytes);
    bytes.bytes[1] = 1;
    crypto_generichash(sum, sizeof sum, bytes.bytes, 120, NULL, 0);
    memcpy(bytes.bytes + 120, sum, 8);
    assert_int_equal(weft_id_decode(&bytes, &out), WEFT_ERR_ARG);
    snprintf(versions, sizeof versions, "version 1, this library has version %d",
             WEFT_WIRE_VERSION);
    assert_non_null(strstr(weft_error_record()->text, versions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_survives_its_bytes),
        cmocka_unit_test(an_id_that_rank_0_made_says_so),
        cmocka_unit_test(an_id_of_another_version_is_refused_with_both),
        cmocka_unit_test(a_changed_byte_anywhere_is_refused),
        cmocka_unit_test(a_well_formed_id_with_bad_addresses_is_refused),
        cmocka_unit_test(an_id_expires_after_its_life),
        cmocka_unit_test(keys_depend_on_purpose_secret_and_nonce),
        cmocka_unit_test(an_interface_that_does_not_exist_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
