/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of `weft tune` is read back, however odd the figures are that a fit came to. */
#include <string.h>

#include "core/base/error.h"
#include "core/comm/figures.h"
#include "core/config/config.h"
#include "core/config/settings.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"
#include "tools/tune_write.h"

/* Writes figures that are all `seconds`, and reads the file. */
static void write_and_read(double seconds, weft_settings_t *settings, weft_config_t **config,
                           weft_figures_t *given)
{
    const tune_request_t request = {.rounds = 3, .out = scratch_path("tuned.ini")};
    const tune_results_t none = {.list = NULL};
    const tune_errors_t errors[2] = {{.good = 0}};
    const tune_rank_t rank = {.request = &request,
                              .nranks = 2,
                              .figures = {.nhosts = 2, .crowd = 2, .kernel = "kernel-cpu"}};
    tune_figures_t figures = {
        .net = {"net-shm", "net-socket"}, .cores = seconds, .cache = seconds, .wire = seconds};
    for (uint32_t l = 0; l < WEFT_LEVELS; l++) {
        figures.level[l] =
            (weft_cost_edge_t){.alpha = seconds, .beta = seconds, .overhead = seconds};
        figures.busy[l] = (weft_cost_busy_t){.turn = seconds, .slice = seconds, .beta = seconds};
    }
    for (uint32_t i = 0; i < WEFT_FIGURES_RATES; i++) {
        figures.gamma[i] = seconds;
    }
    assert_true(tune_write_ini(&rank, &figures, &none, errors));
    const weft_comm_options_t options = {.size = sizeof options, .config = request.out};
    assert_int_equal(weft_config_load(&options, config), WEFT_OK);
    if (weft_settings_read(*config, settings) != WEFT_OK ||
        weft_figures_read(settings->figures.edge, settings->figures.kernel, "kernel-cpu", NULL,
                          given) != WEFT_OK) {
        fail_msg("%s", weft_error_record()->text);
    }
}

static void what_is_written_says_something_when_it_is_read(void **state)
{
    static const double seconds[] = {1e-30, 1e-12, 1e-9, 1e-6, 1, 1e30};
    (void)state;
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        weft_settings_t settings;
        weft_config_t *config;
        weft_figures_t given;
        write_and_read(seconds[i], &settings, &config, &given);
        assert_int_equal(given.nedges, 2);
        for (uint32_t k = 0; k < given.nedges; k++) {
            const weft_figures_edge_t *edge = &given.edges[k];
            assert_true(edge->edge.alpha > 0 && edge->edge.beta > 0 && edge->edge.overhead > 0);
            assert_true(edge->busy.turn > 0 && edge->busy.slice > 0 && edge->busy.beta > 0);
        }
        assert_true(given.edges[1].wire > 0);
        assert_true(given.kernel.gamma[WEFT_FP32] > 0);
        assert_true(settings.figures.cache > 0);
        assert_true(seconds[i] >= 2 || settings.figures.cores > 0);
        weft_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_says_something_when_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
