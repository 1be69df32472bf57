/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared objects that cannot be loaded, descriptors that a program has closed, and the name of the
 * host. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/os.h"
#include "tests/support/unit.h"

#define WHOLE ((size_t)64 << 20)

/* Loads the first `most` bytes of a plugin, as one for another machine unless that is EM_NONE. */
static void *load_part(size_t most, uint16_t machine, char *why, size_t bytes)
{
    char path[] = "/tmp/weft-part-XXXXXX", *whole = NULL;
    size_t length = 0;
    int cause, fd = mkstemp(path);
    assert_int_equal(
        weft_os_read_file(WEFT_PLUGIN_DIR "/algo-ring.so", WHOLE, &whole, &length, &cause),
        WEFT_OK);
    length = most < length ? most : length;
    if (machine != EM_NONE) {
        memcpy(whole + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
    }
    assert_int_equal(write(fd, whole, length), length);
    close(fd);
    weft_os_free(whole);
    void *object = weft_os_dl_open(path, why, bytes);
    unlink(path);
    return object;
}

static void a_shared_object_that_is_cut_off_is_refused(void **state)
{
    (void)state;
    static const size_t parts[] = {5000, 9000, 70};
    char why[300] = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_null(load_part(parts[i], EM_NONE, why, sizeof why));
        if (strstr(why, "cut off") == NULL) {
            fail_msg("%zu bytes: %s", parts[i], why);
        }
    }
    assert_null(load_part(10, EM_NONE, why, sizeof why)); /* the words of the system */
    assert_null(strstr(why, "cut off"));
    void *object = load_part(WHOLE, EM_NONE, why, sizeof why);
    assert_non_null(object);
    weft_os_dl_close(object);
}

static void a_shared_object_of_another_machine_is_named(void **state)
{
    (void)state;
    char why[300] = "";
    assert_null(load_part(WHOLE, EM_PPC64, why, sizeof why));
    assert_string_equal(why, "one for POWER machines, which this is not");
    assert_null(load_part(WHOLE, EM_SPARC, why, sizeof why));
    assert_string_equal(why, "one for machines of type 2 of ELF, which this is not");
}

/* What a function returns in a process of its own, which may close descriptors and lower limits. */
static int exit_code_of(int (*function)(void))
{
    int code = -1;
    const pid_t child = fork();
    if (child == 0) {
        _exit(function());
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static int load_another_with_one_descriptor(void)
{
    char path[] = "/tmp/weft-part-XXXXXX", why[300] = "";
    const int fd = mkstemp(path);
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                       .e_machine = EM_PPC64};
    const struct rlimit limit = {.rlim_cur = (rlim_t)fd + 1, .rlim_max = (rlim_t)fd + 1};
    if (fd < 0 || write(fd, &head, sizeof head) != (ssize_t)sizeof head || close(fd) != 0 ||
        setrlimit(RLIMIT_NOFILE, &limit) != 0 || weft_os_dl_open(path, why, sizeof why) != NULL) {
        return 2;
    }
    unlink(path);
    fprintf(stderr, "%s\n", why);
    return strcmp(why, "one for POWER machines, which this is not") == 0 ? 0 : 3;
}

/* Which machine this is, no file tells: in /proc it may be the emulator that is found. */
static void another_machine_is_known_without_a_look_at_the_program(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(load_another_with_one_descriptor), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Loads a plugin where the address space has room for a part of it. */
static int load_without_room(void)
{
    char why[300] = "";
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1) {
        return 2;
    }
    fclose(statm);
    const rlim_t space = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 10);
    const struct rlimit limit = {.rlim_cur = space, .rlim_max = space};
    if (setrlimit(RLIMIT_AS, &limit) != 0 ||
        weft_os_dl_open(WEFT_PLUGIN_DIR "/kernel-cpu.so", why, sizeof why) != NULL) {
        return 3;
    }
    fprintf(stderr, "%s\n", why);
    return strstr(why, "failed to map segment from shared object (see ulimit -v)") != NULL ? 0 : 4;
}

static void a_limit_of_the_address_space_is_named(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(load_without_room), 0);
}
#endif

/* Returns what is wrong. */
static int close_and_open(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
    }
    weft_os_open_standard();
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        struct stat info;
        if (fstat(fd, &info) != 0 || !S_ISCHR(info.st_mode)) {
            return 1 + fd;
        }
    }
    const int before = dup(0);
    weft_os_open_standard(); /* nothing is closed: nothing stays open */
    const int after = dup(0);
    return before > STDERR_FILENO && after == before + 1 ? 0 : 10;
}

static void closed_standard_descriptors_are_opened(void **state)
{
    (void)state;
    assert_int_equal(exit_code_of(close_and_open), 0);
}

static void the_name_of_the_host_is_cut_where_it_does_not_fit(void **state)
{
    (void)state;
    char all[256] = "", name[256], cut[2];
    assert_int_equal(gethostname(all, sizeof all), 0);
    weft_os_host_name(name, sizeof name);
    assert_string_equal(name, all);
    /* "unknown", of a name that is known, would be another. */
    weft_os_host_name(cut, sizeof cut);
    assert_int_equal(cut[0], all[0]);
    assert_int_equal(cut[1], '\0');
    memset(name, 'x', sizeof name);
    weft_os_host_name(name, strlen(all) + 1);
    assert_string_equal(name, all);
}

/* fstat() fails as that of a file system that is gone does. */
static bool fstat_fails;
int __real_fstat(int fd, struct stat *file);
int __wrap_fstat(int fd, struct stat *file);

int __wrap_fstat(int fd, struct stat *file)
{
    if (fstat_fails) {
        errno = ESTALE;
        return -1;
    }
    return __real_fstat(fd, file);
}

static void a_file_that_cannot_be_looked_at_has_its_reason(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    int cause = 0;
    (void)state;
    fstat_fails = true;
    weft_status_t status = weft_os_read_file("/dev/null", 100, &text, &bytes, &cause);
    fstat_fails = false;
    assert_int_equal(status, WEFT_ERR_SYSTEM);
    assert_int_equal(cause, ESTALE);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_object_that_is_cut_off_is_refused),
        cmocka_unit_test(a_shared_object_of_another_machine_is_named),
        cmocka_unit_test(another_machine_is_known_without_a_look_at_the_program),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(a_limit_of_the_address_space_is_named),
#endif
        cmocka_unit_test(closed_standard_descriptors_are_opened),
        cmocka_unit_test(a_file_that_cannot_be_looked_at_has_its_reason),
        cmocka_unit_test(the_name_of_the_host_is_cut_where_it_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
