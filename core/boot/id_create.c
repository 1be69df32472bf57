/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See id_create.h. */
#include "core/boot/id_create.h"

#include "core/base/error.h"
#include "core/boot/join_root.h"
#include "core/os/os.h"

static weft_status_t id_create_fill(const weft_boot_settings_t *settings, weft_id_t *id)
{
    double life = settings->init_timeout;
    id->created = (uint32_t)weft_os_wall_s();
    id->life = life > 0 && life < 1e9 ? (uint32_t)life + 1 : 0;
    id->count = weft_os_addrs(settings->interface, NULL, id->addrs, WEFT_ID_ADDRS);
    weft_status_t status = id->count > 0 ? WEFT_OK : weft_error_record()->status;
    if (status == WEFT_OK) {
        status = weft_os_random(id->secret, sizeof id->secret);
    }
    if (status == WEFT_OK) {
        status = weft_os_random(id->nonce, sizeof id->nonce);
    }
    return status;
}

weft_status_t weft_boot_id_create(const weft_boot_settings_t *settings, weft_unique_id_t *out)
{
    weft_id_t id = {0};
    weft_status_t status = id_create_fill(settings, &id);
    if (status == WEFT_OK) {
        status = weft_boot_root_start(settings, &id, 0);
    }
    if (status == WEFT_OK) {
        weft_id_encode(&id, out);
    }
    weft_id_wipe(&id);
    return status;
}
