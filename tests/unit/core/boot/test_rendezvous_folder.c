/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The folder where ranks meet, and files that are written there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/boot/rendezvous_folder.h"
#include "core/os/os_folder.h"
#include "tests/support/unit.h"

static char base[64];

static int make_base(void **state)
{
    (void)state;
    strcpy(base, "/tmp/weft-test-XXXXXX");
    return mkdtemp(base) == NULL;
}

static int remove_base(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/weft-%u", base, weft_os_user_id());
    (void)rmdir(path);
    return rmdir(base);
}

static void it_is_this_users_alone(void **state)
{
    (void)state;
    char path[256], wanted[128];
    struct stat st;
    snprintf(wanted, sizeof wanted, "%s/weft-%u", base, weft_os_user_id());
    assert_int_equal(weft_rendezvous_folder(base, path, sizeof path), WEFT_OK);
    assert_string_equal(path, wanted);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(weft_rendezvous_folder(base, path, sizeof path), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "private folder"));
    chmod(path, 0700);
}

static void a_umask_does_not_shut_out_its_owner(void **state)
{
    (void)state;
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "%s/weft-%u", base, weft_os_user_id());
    (void)rmdir(path);
    const mode_t before = umask(0177);
    const weft_status_t status = weft_rendezvous_folder(base, path, sizeof path);
    umask(before);
    assert_int_equal(status, WEFT_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    /* Another rank may see it before its maker has done so; an older version left it that way. */
    assert_int_equal(chmod(path, 0600), 0);
    assert_false(weft_os_folder_is_private(path));
    assert_int_equal(weft_rendezvous_folder(base, path, sizeof path), WEFT_OK);
    assert_true(weft_os_folder_is_private(path));
}

static void a_relative_path_is_refused(void **state)
{
    (void)state;
    char path[256];
    assert_int_equal(weft_rendezvous_folder("here", path, sizeof path), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "no absolute path"));
}

static void a_long_path_is_refused_and_not_cut(void **state)
{
    (void)state;
    char path[512], shared[300];
    /* The folder itself, said in 256 and in 257 bytes. */
    const int used = snprintf(shared, sizeof shared, "%s", base);
    memset(shared + used, '/', sizeof shared - (size_t)used);
    shared[256] = '\0';
    assert_int_equal(weft_rendezvous_folder(shared, path, sizeof path), WEFT_OK);
    shared[256] = '/';
    shared[257] = '\0';
    assert_int_equal(weft_rendezvous_folder(shared, path, sizeof path), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "boot.rendezvous has 257 bytes"));
}

static uint32_t files(void)
{
    uint32_t count = 0;
    DIR *dir = opendir(base);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        count += e->d_type == DT_REG;
    }
    closedir(dir);
    return count;
}

static void a_file_is_made_and_replaced_and_nothing_lies_beside_it(void **state)
{
    (void)state;
    char path[128], found[4];
    struct stat st;
    snprintf(path, sizeof path, "%s/note", base);
    assert_int_equal(weft_os_private_write(path, "one", 4), WEFT_OK);
    assert_int_equal(files(), 1);
    assert_int_equal(weft_os_private_write(path, "two", 4), WEFT_OK);
    assert_int_equal(files(), 1);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(weft_os_private_read(path, found, sizeof found));
    assert_string_equal(found, "two");
    weft_os_file_remove(path);
    assert_int_equal(files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_this_users_alone),
        cmocka_unit_test(a_umask_does_not_shut_out_its_owner),
        cmocka_unit_test(a_relative_path_is_refused),
        cmocka_unit_test(a_long_path_is_refused_and_not_cut),
        cmocka_unit_test(a_file_is_made_and_replaced_and_nothing_lies_beside_it),
    };
    return cmocka_run_group_tests(tests, make_base, remove_base);
}
