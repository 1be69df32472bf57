/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Machines as text: what is read, what is refused with which words, and that all comes back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/topo/machine_text.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const char two_gpus[] =
    "# a comment\n"
    "\n"
    "weft-machine 1 # version\n"
    "machine name=\"two gpus\" socket=20GB/s\n"
    "package 0 model=\"a model\"\n"
    "node 0 package=0 cores=4 pus=8 memory=2GiB bandwidth=100GB/s list=0-7\n"
    "branch 0 node=0 bandwidth=16GB/s name=\"host bridge\"\r\n"
    "branch 1 parent=0 bandwidth=15.75GB/s\n"
    "gpu 0 branch=1 pci=8000MB/s address=0000:01:00.0\n"
    "gpu 1 branch=1\n"
    "nic 0 speed=200Gb/s rail=3 system=\"mlx5_0 ib0\"\n"
    "link 0 1 bandwidth=50GB/s\n"
    "link 1 switch\n";

static void a_machine_is_read(void **state)
{
    (void)state;
    weft_machine_t m;
    assert_int_equal(weft_machine_parse("two", two_gpus, &m), WEFT_OK);
    assert_string_equal(m.name, "two gpus");
    assert_string_equal(m.source, "two");
    assert_true(m.socket == 20e9);
    assert_int_equal(m.nnodes, 1);
    assert_int_equal(m.nodes[0].memory, 2ull << 30);
    assert_int_equal(m.nodes[0].usable, 8);
    assert_int_equal(m.nbranches, 2);
    assert_int_equal(m.branches[1].node, 0); /* its parent's */
    assert_int_equal(m.ngpus, 2);
    assert_int_equal(m.ndevices, 3);
    assert_true(m.devices[0].pci == 8e9);
    assert_int_equal(m.devices[1].node, 0);
    assert_int_equal(m.devices[2].number, 0);
    assert_true(m.devices[2].speed == 25e9);
    assert_int_equal(m.devices[2].rail, 3);
    assert_int_equal(m.devices[2].node, WEFT_MACHINE_NONE);
    assert_int_equal(m.nlinks, 2);
    assert_int_equal(m.links[1].to, WEFT_MACHINE_NONE);
    weft_machine_fini(&m);
}

static void print_to(const weft_machine_t *machine, char *text, size_t bytes)
{
    FILE *out = fmemopen(text, bytes, "w");
    assert_non_null(out);
    weft_machine_print(machine, out);
    assert_int_equal(fclose(out), 0);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    static char first[65536], second[65536];
    weft_machine_t m;
    assert_int_equal(weft_machine_parse("two", two_gpus, &m), WEFT_OK);
    print_to(&m, first, sizeof first);
    weft_machine_fini(&m);
    assert_int_equal(weft_machine_parse("again", first, &m), WEFT_OK);
    print_to(&m, second, sizeof second);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "gpu 0 branch=1 node=0 pci=8GB/s address=\"0000:01:00.0\"\n"));
    weft_machine_fini(&m);
}

#define HEAD "weft-machine 1\n"

/* 0 PUs say something: a process that may run on none of a node's. */
static void a_node_may_have_no_usable_pus(void **state)
{
    (void)state;
    static char text[65536];
    weft_machine_t m;
    assert_int_equal(weft_machine_parse("f", HEAD "node 0 cores=4 pus=8 usable=0\n", &m), WEFT_OK);
    print_to(&m, text, sizeof text);
    weft_machine_fini(&m);
    assert_int_equal(weft_machine_parse("again", text, &m), WEFT_OK);
    assert_int_equal(m.nodes[0].pus, 8);
    assert_int_equal(m.nodes[0].usable, 0);
    weft_machine_fini(&m);
}

static void a_wrong_file_names_line_and_what_was_expected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "f:1: expected \"weft-machine 1\" as the first line"},
        {"weft-machine 2\n", "f:1: expected \"weft-machine 1\" as the first line"},
        {HEAD "\ngpus 0\n",
         "f:3: found \"gpus\", expected machine, package, node, branch, gpu, nic "
         "or link"},
        {HEAD "gpu\n", "f:2: expected the number of the gpu, 0"},
        {HEAD "gpu 1\n", "f:2: found gpu 1, expected gpu 0: they are numbered as they stand"},
        {HEAD "gpu x\n", "f:2: gpu is \"x\", expected a number from 0 to 1048576"},
        {HEAD "gpu 0 branch=0\n", "f:2: there is no branch 0 above this line, there are 0"},
        {HEAD "gpu 0 pcie=1GB/s\n", "f:2: unknown key \"pcie\", did you mean pci?; expected one of "
                                    "branch, node, bridges, pci, address, model, system"},
        {HEAD "gpu 0 pci=fast\n",
         "f:2: pci is \"fast\", expected a bandwidth such as 25GB/s or 200Gb/s, above 0 "
         "and at most 1000000GB/s"},
        {HEAD "gpu 0 pci=-1GB/s\n",
         "f:2: pci is \"-1GB/s\", expected a bandwidth such as 25GB/s or 200Gb/s, above 0 "
         "and at most 1000000GB/s"},
        {HEAD "gpu 0 pci=0GB/s\n",
         "f:2: pci is \"0GB/s\", expected a bandwidth such as 25GB/s or 200Gb/s, above 0 and at "
         "most 1000000GB/s"},
        {HEAD "machine socket=1e300GB/s\n",
         "f:2: socket is \"1e300GB/s\", expected a bandwidth such as 25GB/s or 200Gb/s, above 0 "
         "and at most 1000000GB/s"},
        {"weft-machine 1 2\n", "f:1: expected \"weft-machine 1\" as the first line"},
        {"x=weft-machine 1\n", "f:1: expected \"weft-machine 1\" as the first line"},
        {HEAD "machine name=a\nmachine name=b\n", "f:3: a second line \"machine\""},
        {HEAD "gpu 0 pci=1GB/s pci=2GB/s\n", "f:2: pci is given twice"},
        {HEAD "node 0 cores=4 memory=1GiB cores=8\n", "f:2: cores is given twice"},
        {HEAD "gpu 0 here\n", "f:2: expected KEY=VALUE, found \"here\""},
        {HEAD "nic 0\ngpu 0\n", "f:3: expected GPUs before NICs"},
        {HEAD "machine name=\"no end\n", "f:2: a quoted word does not end on its line"},
        {HEAD "gpu 0\nlink 0\n", "f:3: expected the numbers of two GPUs, or of one and \"switch\""},
        {HEAD "gpu 0\nlink 0 0\n", "f:3: gpu 0 is linked with itself"},
        {HEAD "gpu 0\nlink 0 1\n", "f:3: there is no gpu 1 above this line, there are 1"},
        {HEAD "node 0 memory=much\n", "f:2: memory is \"much\", expected a size such as 512GiB"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        weft_machine_t m;
        assert_int_equal(weft_machine_parse("f", wrong[i].text, &m), WEFT_ERR_CONFIG);
        assert_string_equal(weft_error_record()->text, wrong[i].error);
    }
}

static void too_much_of_anything_is_refused(void **state)
{
    (void)state;
    static char text[1 << 16] = HEAD;
    weft_machine_t m;
    size_t used = strlen(text);
    for (uint32_t i = 0; i <= WEFT_MACHINE_DEVICES_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "gpu %u\n", i);
    }
    assert_int_equal(weft_machine_parse("f", text, &m), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "f:258: the machine has more than 256"));
    snprintf(text, sizeof text, HEAD "machine name=%0300d\n", 0);
    assert_int_equal(weft_machine_parse("f", text, &m), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "f:2: a word of 300 characters"));
    assert_int_equal(weft_machine_load("/nowhere/at-all", &m), WEFT_ERR_SYSTEM);
    assert_non_null(strstr(weft_error_record()->text, "cannot read /nowhere/at-all: "));
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_int_equal(weft_machine_load(scratch_path("pipe"), &m), WEFT_ERR_CONFIG);
    assert_non_null(strstr(weft_error_record()->text, "/pipe is no regular file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_read),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(a_node_may_have_no_usable_pus),
        cmocka_unit_test(a_wrong_file_names_line_and_what_was_expected),
        cmocka_unit_test(too_much_of_anything_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
