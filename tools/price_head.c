/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See price_head.h. */
#include "tools/price_head.h"

#include <stdio.h>

#include "core/base/plural.h"
#include "core/comm/figures.h"

void price_head_protocols(const weft_cost_model_t *model, const char *head)
{
    for (uint32_t p = 1; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
        char most[24], alpha[24], more[24];
        const weft_cost_protocol_t *protocol = &model->protocol[p];
        if (protocol->edge.beta > 0 && protocol->most >= protocol->least) {
            printf("%s  %s, up to %s: %s a message, %s a further one, %.4g GB/s%s\n", head,
                   weft_figures_protocol_name((weft_kernel_protocol_t)p),
                   price_size_text(protocol->most, most),
                   price_time_text(protocol->edge.alpha, alpha),
                   price_time_text(protocol->edge.overhead, more), 1e-9 / protocol->edge.beta,
                   p == WEFT_KERNEL_PROTOCOL_WHOLE ? ", where buffers lie in windows" : "");
        }
    }
}

static void price_head_path(const plan_path_t *path, const char *first, const char *head)
{
    char alpha[24], more[24];
    weft_cost_model_t model = {.launch = 0};
    plan_path_apply(path, &model);
    printf("%sinside a host: %s %s, %s a message, %s a further one, %.4g GB/s", first, path->kernel,
           weft_figures_path_name(path->path), price_time_text(path->edge.alpha, alpha),
           price_time_text(path->edge.overhead, more), 1e-9 / path->edge.beta);
    if (path->edge.together > 0) {
        printf(", %.4g GB/s of all channels", 1e-9 / path->edge.together);
    }
    printf("%s\n", path->presumed ? "; presumed, no device was asked" : "");
    price_head_protocols(&model, head);
    printf("%sa launch: %s; sums at %.4g GB/s; up to %u channel%s\n", head,
           price_time_text(path->launch, alpha), 1e-9 / path->gamma, path->channels,
           weft_plural(path->channels));
}

static void price_head_edge_json(const char *name, const weft_cost_edge_t *edge, json_t *json)
{
    json_open(json, name, '{');
    json_real(json, "alpha", edge->alpha);
    json_real(json, "overhead", edge->overhead);
    json_real(json, "beta", edge->beta);
    json_real(json, "together", edge->together);
}

static void price_head_path_json(const plan_path_t *path, json_t *json)
{
    json_open(json, "path", '{');
    json_string(json, "kernel", path->kernel);
    json_string(json, "name", weft_figures_path_name(path->path));
    json_bool(json, "presumed", path->presumed);
    json_bool(json, "windows", path->windows);
    json_real(json, "launch", path->launch);
    json_unsigned(json, "channels", path->channels);
    price_head_edge_json("simple", &path->edge, json);
    json_close(json, '}');
    for (uint32_t p = 1; p < WEFT_KERNEL_PROTOCOL_COUNT; p++) {
        const weft_cost_protocol_t *protocol = &path->protocol[p];
        if (protocol->edge.beta > 0 && protocol->most >= protocol->least) {
            price_head_edge_json(weft_figures_protocol_name((weft_kernel_protocol_t)p),
                                 &protocol->edge, json);
            json_unsigned(json, "most", protocol->most);
            json_close(json, '}');
        }
    }
    json_close(json, '}');
}

void price_head_print(const price_model_t *model, uint32_t nhosts, const char *first,
                      const char *head)
{
    char alpha[24], more[24];
    if (plan_path_is_given(&model->path)) {
        price_head_path(&model->path, first, head);
        first = head;
    }
    if (!plan_path_is_given(&model->path) || nhosts > 1) {
        printf("%salpha %s, overhead %s, beta %.4g GB/s, gamma %.4g GB/s, from %s\n", first,
               price_time_text(model->edge.alpha, alpha),
               price_time_text(model->edge.overhead, more), 1e-9 / model->edge.beta,
               1e-9 / model->gamma, model->origin);
    }
}

void price_head_json(const price_model_t *model, json_t *json)
{
    json_open(json, "model", '{');
    json_real(json, "alpha", model->edge.alpha);
    json_real(json, "overhead", model->edge.overhead);
    json_real(json, "beta", model->edge.beta);
    json_real(json, "gamma", model->gamma);
    json_string(json, "origin", model->origin);
    if (plan_path_is_given(&model->path)) {
        price_head_path_json(&model->path, json);
    }
    json_close(json, '}');
}
