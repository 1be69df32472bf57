/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A site's file of levels above the hosts, from memory and from a file, and the search for a host
 * in it. */
#include "core/base/error.h"
#include "core/topo/site.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const hosts[] = {"node1", "node01.cluster", "login",
                                        "",      "n-[1]",          "node99999"};
    uint32_t groups[WEFT_SITE_LEVELS_MAX];
    weft_site_t *site = NULL, *file = NULL;
    char *text = fuzz_text(data, bytes);
    weft_status_t status = weft_site_parse("fuzz", text, &site);
    weft_status_t loaded = weft_site_read(fuzz_file(data, bytes), &file);
    FUZZ_NEED(loaded == (strlen(text) == bytes ? status : WEFT_ERR_CONFIG));
    FUZZ_NEED(status == WEFT_OK || weft_error_record()->text[0] != '\0');
    if (status == WEFT_OK) {
        uint32_t levels = weft_site_levels(site);
        FUZZ_NEED(levels >= 1 && levels <= WEFT_SITE_LEVELS_MAX);
        for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++) {
            bool found = weft_site_find(site, hosts[h], groups) == WEFT_OK;
            for (uint32_t l = 0; found && l < levels; l++) {
                FUZZ_NEED(groups[l] < weft_site_groups(site, l));
                FUZZ_NEED(weft_site_name(site, l, groups[l]) != NULL);
            }
        }
        FUZZ_NEED(file == NULL || weft_site_hash(site) == weft_site_hash(file));
    }
    weft_site_free(site);
    weft_site_free(file);
    free(text);
    return 0;
}
