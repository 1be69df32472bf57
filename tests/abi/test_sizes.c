/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes and offsets of every public struct on 64-bit machines, and the numbers that cross the ABI
 * or the wire. A line that changes here breaks programs and plugins built before: structs that
 * start with `size` may grow at their end (change SIZE, add FIELDs), nothing else may move. The
 * compiler checks; running the program only says that it was built. */
#include <weft/plugin/algo.h>
#include <weft/plugin/describe.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>
#include <weft/plugin/plan.h>
#include <weft/plugin/plugin.h>
#include <weft/plugin/draft/stream.h>
#include <weft/plugin/topo.h>
#include <weft/plugin/tuner.h>
#include <weft/weft.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define FIELD(type, field, at)                                                                     \
    _Static_assert(offsetof(type, field) == (at), "offset of " #type "." #field)
#define VALUE(name, number) _Static_assert((name) == (number), "value of " #name)

#if UINTPTR_MAX == UINT64_MAX

SIZE(weft_error_t, 656);
FIELD(weft_error_t, size, 0);
FIELD(weft_error_t, status, 8);
FIELD(weft_error_t, rank, 12);
FIELD(weft_error_t, peer, 16);
FIELD(weft_error_t, peer_pid, 20);
FIELD(weft_error_t, os_errno, 24);
FIELD(weft_error_t, comm_id, 32);
FIELD(weft_error_t, sequence, 40);
FIELD(weft_error_t, peer_host, 48);
FIELD(weft_error_t, transport, 112);
FIELD(weft_error_t, text, 144);

SIZE(weft_unique_id_t, 128);
FIELD(weft_unique_id_t, bytes, 0);

SIZE(weft_comm_options_t, 48);
FIELD(weft_comm_options_t, size, 0);
FIELD(weft_comm_options_t, config, 8);
FIELD(weft_comm_options_t, settings, 16);
FIELD(weft_comm_options_t, settings_count, 24);
FIELD(weft_comm_options_t, name, 32);
FIELD(weft_comm_options_t, cancel_fd, 40);

SIZE(weft_launcher_t, 40);
FIELD(weft_launcher_t, size, 0);
FIELD(weft_launcher_t, name, 8);
FIELD(weft_launcher_t, rank, 24);
FIELD(weft_launcher_t, nranks, 28);
FIELD(weft_launcher_t, local_rank, 32);
FIELD(weft_launcher_t, local_ranks, 36);

SIZE(weft_call_t, 80);
FIELD(weft_call_t, size, 0);
FIELD(weft_call_t, request_p, 8);
FIELD(weft_call_t, timeout, 16);
FIELD(weft_call_t, scalar, 24);
FIELD(weft_call_t, scalar_read, 32);
FIELD(weft_call_t, stream, 40);
FIELD(weft_call_t, source_p, 48);
FIELD(weft_call_t, queue, 56);
FIELD(weft_call_t, context, 64);
FIELD(weft_call_t, patience, 72);

SIZE(weft_completion_t, 24);
FIELD(weft_completion_t, request, 0);
FIELD(weft_completion_t, context, 8);
FIELD(weft_completion_t, status, 16);

SIZE(weft_option_t, 64);
FIELD(weft_option_t, name, 0);
FIELD(weft_option_t, type, 8);
FIELD(weft_option_t, offset, 12);
FIELD(weft_option_t, value, 16);
FIELD(weft_option_t, help, 24);
FIELD(weft_option_t, choices, 32);
FIELD(weft_option_t, min, 40);
FIELD(weft_option_t, max, 48);
FIELD(weft_option_t, flags, 56);

SIZE(weft_plugin_t, 64);
FIELD(weft_plugin_t, magic, 0);
FIELD(weft_plugin_t, abi_major, 4);
FIELD(weft_plugin_t, abi_minor, 6);
FIELD(weft_plugin_t, size, 8);
FIELD(weft_plugin_t, kind, 12);
FIELD(weft_plugin_t, name, 16);
FIELD(weft_plugin_t, version, 24);
FIELD(weft_plugin_t, help, 32);
FIELD(weft_plugin_t, options, 40);
FIELD(weft_plugin_t, config_size, 48);
FIELD(weft_plugin_t, ops, 56);

SIZE(weft_host_t, 96);
FIELD(weft_host_t, size, 0);
FIELD(weft_host_t, core, 8);
FIELD(weft_host_t, log_level, 16);
FIELD(weft_host_t, log, 24);
FIELD(weft_host_t, set_error, 32);
FIELD(weft_host_t, alloc, 40);
FIELD(weft_host_t, free, 48);
FIELD(weft_host_t, clock_ns, 56);
FIELD(weft_host_t, random, 64);
FIELD(weft_host_t, thread_start, 72);
FIELD(weft_host_t, thread_join, 80);
FIELD(weft_host_t, get_service, 88);

SIZE(weft_auth_state_t, 256);
FIELD(weft_auth_state_t, opaque, 0);

SIZE(weft_auth_service_t, 40);
FIELD(weft_auth_service_t, size, 0);
FIELD(weft_auth_service_t, client_begin, 8);
FIELD(weft_auth_service_t, server_reply, 16);
FIELD(weft_auth_service_t, client_finish, 24);
FIELD(weft_auth_service_t, server_check, 32);

SIZE(weft_plan_text_t, 32);
FIELD(weft_plan_text_t, name, 8);
FIELD(weft_plan_text_t, text, 16);
FIELD(weft_plan_text_t, bytes, 24);

SIZE(weft_plan_text_entry_t, 48);
FIELD(weft_plan_text_entry_t, coll, 8);
FIELD(weft_plan_text_entry_t, nranks, 12);
FIELD(weft_plan_text_entry_t, rank, 16);
FIELD(weft_plan_text_entry_t, root, 20);
FIELD(weft_plan_text_entry_t, line, 24);
FIELD(weft_plan_text_entry_t, offset, 32);
FIELD(weft_plan_text_entry_t, bytes, 40);

SIZE(weft_plan_text_service_t, 24);
FIELD(weft_plan_text_service_t, next, 8);
FIELD(weft_plan_text_service_t, write, 16);

SIZE(weft_net_props_t, 200);
FIELD(weft_net_props_t, size, 0);
FIELD(weft_net_props_t, name, 8);
FIELD(weft_net_props_t, pci, 72);
FIELD(weft_net_props_t, rail, 104);
FIELD(weft_net_props_t, memory_kinds, 108);
FIELD(weft_net_props_t, latency_ns, 112);
FIELD(weft_net_props_t, bandwidth, 120);
FIELD(weft_net_props_t, ordering_bytes, 128);
FIELD(weft_net_props_t, flush_needed, 136);
FIELD(weft_net_props_t, max_outstanding, 140);
FIELD(weft_net_props_t, inline_bytes, 144);
FIELD(weft_net_props_t, max_message, 152);
FIELD(weft_net_props_t, slot_bytes, 160);
FIELD(weft_net_props_t, slots, 168);
FIELD(weft_net_props_t, overhead_ns, 176);
FIELD(weft_net_props_t, local_bandwidth, 184);
FIELD(weft_net_props_t, local_overhead_ns, 192);

SIZE(weft_net_address_t, 256);
FIELD(weft_net_address_t, bytes, 0);
FIELD(weft_net_address_t, data, 4);

SIZE(weft_net_conn_params_t, 88);
FIELD(weft_net_conn_params_t, size, 0);
FIELD(weft_net_conn_params_t, label, 8);
FIELD(weft_net_conn_params_t, map_bytes, 72);
FIELD(weft_net_conn_params_t, commit_bytes, 80);

SIZE(weft_net_conn_info_t, 208);
FIELD(weft_net_conn_info_t, size, 0);
FIELD(weft_net_conn_info_t, label, 8);
FIELD(weft_net_conn_info_t, connector, 72);
FIELD(weft_net_conn_info_t, peer, 76);

SIZE(weft_net_op_t, 40);
FIELD(weft_net_op_t, kind, 0);
FIELD(weft_net_op_t, reserved, 4);
FIELD(weft_net_op_t, buffer, 8);
FIELD(weft_net_op_t, bytes, 16);
FIELD(weft_net_op_t, region, 24);
FIELD(weft_net_op_t, context, 32);

SIZE(weft_net_completion_t, 32);
FIELD(weft_net_completion_t, context, 0);
FIELD(weft_net_completion_t, status, 8);
FIELD(weft_net_completion_t, kind, 12);
FIELD(weft_net_completion_t, bytes, 16);
FIELD(weft_net_completion_t, conn, 24);

SIZE(weft_net_ops_t, 192);
FIELD(weft_net_ops_t, size, 0);
FIELD(weft_net_ops_t, caps, 8);
FIELD(weft_net_ops_t, reserved, 12);
FIELD(weft_net_ops_t, create, 16);
FIELD(weft_net_ops_t, destroy, 24);
FIELD(weft_net_ops_t, device_count, 32);
FIELD(weft_net_ops_t, device_props, 40);
FIELD(weft_net_ops_t, device_open, 48);
FIELD(weft_net_ops_t, device_close, 56);
FIELD(weft_net_ops_t, listen, 64);
FIELD(weft_net_ops_t, listener_close, 72);
FIELD(weft_net_ops_t, reachable, 80);
FIELD(weft_net_ops_t, connect_begin, 88);
FIELD(weft_net_ops_t, connect_poll, 96);
FIELD(weft_net_ops_t, accept, 104);
FIELD(weft_net_ops_t, conn_info, 112);
FIELD(weft_net_ops_t, conn_check, 120);
FIELD(weft_net_ops_t, conn_close, 128);
FIELD(weft_net_ops_t, post, 136);
FIELD(weft_net_ops_t, poll, 144);
FIELD(weft_net_ops_t, cancel, 152);
FIELD(weft_net_ops_t, wait_fd, 160);
FIELD(weft_net_ops_t, reg, 168);
FIELD(weft_net_ops_t, dereg, 176);
FIELD(weft_net_ops_t, get_extension, 184);

SIZE(weft_net_map_t, 32);
FIELD(weft_net_map_t, size, 0);
FIELD(weft_net_map_t, region, 8);
FIELD(weft_net_map_t, commit, 16);
FIELD(weft_net_map_t, discard, 24);

SIZE(weft_algo_param_t, 40);
FIELD(weft_algo_param_t, name, 0);
FIELD(weft_algo_param_t, help, 8);
FIELD(weft_algo_param_t, min, 16);
FIELD(weft_algo_param_t, max, 24);
FIELD(weft_algo_param_t, value, 32);

SIZE(weft_algo_call_t, 96);
FIELD(weft_algo_call_t, size, 0);
FIELD(weft_algo_call_t, coll, 8);
FIELD(weft_algo_call_t, nranks, 12);
FIELD(weft_algo_call_t, rank, 16);
FIELD(weft_algo_call_t, root, 20);
FIELD(weft_algo_call_t, params, 24);
FIELD(weft_algo_call_t, pack, 88);

SIZE(weft_algo_topo_t, 136);
FIELD(weft_algo_topo_t, size, 0);
FIELD(weft_algo_topo_t, nhosts, 8);
FIELD(weft_algo_topo_t, host, 16);
FIELD(weft_algo_topo_t, nlevels, 24);
FIELD(weft_algo_topo_t, host_level, 28);
FIELD(weft_algo_topo_t, ngroups, 32);
FIELD(weft_algo_topo_t, group, 40);
FIELD(weft_algo_topo_t, order, 48);
FIELD(weft_algo_topo_t, position, 56);
FIELD(weft_algo_topo_t, rails, 64);
FIELD(weft_algo_topo_t, nrings, 72);
FIELD(weft_algo_topo_t, nchains, 76);
FIELD(weft_algo_topo_t, ring, 80);
FIELD(weft_algo_topo_t, ring_position, 88);
FIELD(weft_algo_topo_t, chain, 96);
FIELD(weft_algo_topo_t, chain_position, 104);
FIELD(weft_algo_topo_t, kinds, 112);
FIELD(weft_algo_topo_t, kind, 120);
FIELD(weft_algo_topo_t, device, 128);

SIZE(weft_algo_path_t, 4);
FIELD(weft_algo_path_t, bandwidth, 0);
FIELD(weft_algo_path_t, path_class, 2);
FIELD(weft_algo_path_t, reserved, 3);

SIZE(weft_algo_kind_t, 24);
FIELD(weft_algo_kind_t, id, 0);
FIELD(weft_algo_kind_t, paths, 8);
FIELD(weft_algo_kind_t, ngpus, 16);
FIELD(weft_algo_kind_t, ndevices, 20);

SIZE(weft_algo_ops_t, 80);
FIELD(weft_algo_ops_t, size, 0);
FIELD(weft_algo_ops_t, create, 8);
FIELD(weft_algo_ops_t, destroy, 16);
FIELD(weft_algo_ops_t, supports, 24);
FIELD(weft_algo_ops_t, emit, 32);
FIELD(weft_algo_ops_t, params, 40);
FIELD(weft_algo_ops_t, get_extension, 48);
FIELD(weft_algo_ops_t, stamp, 56);
FIELD(weft_algo_ops_t, depth, 64);
FIELD(weft_algo_ops_t, pack, 72);

SIZE(weft_operand_t, 12);
FIELD(weft_operand_t, kind, 0);
FIELD(weft_operand_t, index, 4);
FIELD(weft_operand_t, stride, 8);

SIZE(weft_after_t, 8);
FIELD(weft_after_t, lane, 0);
FIELD(weft_after_t, pc, 4);

SIZE(weft_move_t, 248);
FIELD(weft_move_t, dst, 0);
FIELD(weft_move_t, src, 48);
FIELD(weft_move_t, ndst, 96);
FIELD(weft_move_t, nsrc, 100);
FIELD(weft_move_t, cnt, 104);
FIELD(weft_move_t, flags, 108);
FIELD(weft_move_t, like, 112);
FIELD(weft_move_t, nafter, 124);
FIELD(weft_move_t, after, 128);

SIZE(weft_plan_builder_t, 104);
FIELD(weft_plan_builder_t, size, 0);
FIELD(weft_plan_builder_t, core, 8);
FIELD(weft_plan_builder_t, grid, 16);
FIELD(weft_plan_builder_t, lane, 24);
FIELD(weft_plan_builder_t, port, 32);
FIELD(weft_plan_builder_t, move, 40);
FIELD(weft_plan_builder_t, par, 48);
FIELD(weft_plan_builder_t, loop, 56);
FIELD(weft_plan_builder_t, end, 64);
FIELD(weft_plan_builder_t, bar, 72);
FIELD(weft_plan_builder_t, sub, 80);
FIELD(weft_plan_builder_t, call, 88);
FIELD(weft_plan_builder_t, along, 96);

SIZE(weft_plan_sub_t, 48);
FIELD(weft_plan_sub_t, size, 0);
FIELD(weft_plan_sub_t, algo, 8);
FIELD(weft_plan_sub_t, coll, 16);
FIELD(weft_plan_sub_t, group, 24);
FIELD(weft_plan_sub_t, n, 32);
FIELD(weft_plan_sub_t, root, 36);
FIELD(weft_plan_sub_t, partial, 40);

SIZE(weft_combine_t, 104);
FIELD(weft_combine_t, src, 0);
FIELD(weft_combine_t, dst, 32);
FIELD(weft_combine_t, count, 64);
FIELD(weft_combine_t, nsrc, 72);
FIELD(weft_combine_t, ndst, 76);
FIELD(weft_combine_t, pre_mask, 80);
FIELD(weft_combine_t, nt_mask, 84);
FIELD(weft_combine_t, flags, 88);
FIELD(weft_combine_t, nranks, 92);
FIELD(weft_combine_t, scalar, 96);

SIZE(weft_kernel_edge_t, 32);
SIZE(weft_kernel_props_t, 968);
FIELD(weft_kernel_props_t, size, 0);
FIELD(weft_kernel_props_t, memory_kind, 8);
FIELD(weft_kernel_props_t, variant, 12);
FIELD(weft_kernel_props_t, bandwidth, 48);
FIELD(weft_kernel_props_t, channels, 56);
FIELD(weft_kernel_props_t, edge, 64);
FIELD(weft_kernel_props_t, launch_ns, 192);
FIELD(weft_kernel_props_t, protocol, 200);
FIELD(weft_kernel_props_t, range, 712);

SIZE(weft_kernel_ops_t, 72);
FIELD(weft_kernel_ops_t, size, 0);
FIELD(weft_kernel_ops_t, create, 8);
FIELD(weft_kernel_ops_t, destroy, 16);
FIELD(weft_kernel_ops_t, props, 24);
FIELD(weft_kernel_ops_t, select, 32);
FIELD(weft_kernel_ops_t, get_extension, 40);
FIELD(weft_kernel_ops_t, arithmetic, 48);
FIELD(weft_kernel_ops_t, presume, 56);
FIELD(weft_kernel_ops_t, combine_status, 64);

SIZE(weft_kernel_device_t, 264);
FIELD(weft_kernel_device_t, numa, 16);
FIELD(weft_kernel_device_t, name, 24);
FIELD(weft_kernel_device_t, pci, 152);
FIELD(weft_kernel_device_t, uuid, 184);
FIELD(weft_kernel_device_t, capability, 232);
FIELD(weft_kernel_device_t, memory_bytes, 248);
FIELD(weft_kernel_device_t, memory_free, 256);

SIZE(weft_kernel_peer_access_t, 24);
FIELD(weft_kernel_peer_access_t, access, 8);
FIELD(weft_kernel_peer_access_t, atomics, 12);
FIELD(weft_kernel_peer_access_t, rank, 16);

SIZE(weft_kernel_describe_t, 32);
FIELD(weft_kernel_describe_t, count, 8);
FIELD(weft_kernel_describe_t, device, 16);
FIELD(weft_kernel_describe_t, peer_access, 24);

SIZE(weft_kernel_stream_t, 88);
FIELD(weft_kernel_stream_t, size, 0);
FIELD(weft_kernel_stream_t, open, 8);
FIELD(weft_kernel_stream_t, close, 16);
FIELD(weft_kernel_stream_t, wait, 24);
FIELD(weft_kernel_stream_t, event_record, 32);
FIELD(weft_kernel_stream_t, event_elapsed, 40);
FIELD(weft_kernel_stream_t, event_free, 48);
FIELD(weft_kernel_stream_t, capture_begin, 56);
FIELD(weft_kernel_stream_t, capture_end, 64);
FIELD(weft_kernel_stream_t, graph_launch, 72);
FIELD(weft_kernel_stream_t, graph_free, 80);

SIZE(weft_tuner_call_t, 80);
FIELD(weft_tuner_call_t, size, 0);
FIELD(weft_tuner_call_t, coll, 8);
FIELD(weft_tuner_call_t, dtype, 12);
FIELD(weft_tuner_call_t, op, 16);
FIELD(weft_tuner_call_t, root, 20);
FIELD(weft_tuner_call_t, count, 24);
FIELD(weft_tuner_call_t, bytes, 32);
FIELD(weft_tuner_call_t, nranks, 40);
FIELD(weft_tuner_call_t, nhosts, 44);
FIELD(weft_tuner_call_t, slot_bytes, 48);
FIELD(weft_tuner_call_t, slots, 56);
FIELD(weft_tuner_call_t, memory, 60);
FIELD(weft_tuner_call_t, channels, 64);
FIELD(weft_tuner_call_t, protocol, 68);
FIELD(weft_tuner_call_t, decided, 72);

SIZE(weft_tuner_candidate_t, 48);
FIELD(weft_tuner_candidate_t, size, 0);
FIELD(weft_tuner_candidate_t, algo, 8);
FIELD(weft_tuner_candidate_t, params, 16);
FIELD(weft_tuner_candidate_t, chunks, 24);
FIELD(weft_tuner_candidate_t, steps, 28);
FIELD(weft_tuner_candidate_t, core, 32);
FIELD(weft_tuner_candidate_t, channels, 40);

SIZE(weft_tuner_choice_t, 368);
FIELD(weft_tuner_choice_t, size, 0);
FIELD(weft_tuner_choice_t, index, 8);
FIELD(weft_tuner_choice_t, slices, 12);
FIELD(weft_tuner_choice_t, slice_bytes, 16);
FIELD(weft_tuner_choice_t, reason, 24);
FIELD(weft_tuner_choice_t, channels, 184);
FIELD(weft_tuner_choice_t, next, 188);
FIELD(weft_tuner_choice_t, next_seconds, 192);
FIELD(weft_tuner_choice_t, rule, 200);
FIELD(weft_tuner_choice_t, protocol, 360);

SIZE(weft_tuner_ops_t, 48);
FIELD(weft_tuner_ops_t, size, 0);
FIELD(weft_tuner_ops_t, create, 8);
FIELD(weft_tuner_ops_t, destroy, 16);
FIELD(weft_tuner_ops_t, choose, 24);
FIELD(weft_tuner_ops_t, check, 32);
FIELD(weft_tuner_ops_t, variant, 40);

SIZE(weft_topo_package_t, 24);
FIELD(weft_topo_package_t, size, 0);
FIELD(weft_topo_package_t, model, 8);
FIELD(weft_topo_package_t, index, 16);
FIELD(weft_topo_package_t, reserved, 20);

SIZE(weft_topo_cache_t, 24);
FIELD(weft_topo_cache_t, name, 0);
FIELD(weft_topo_cache_t, bytes, 8);
FIELD(weft_topo_cache_t, count, 16);
FIELD(weft_topo_cache_t, reserved, 20);

SIZE(weft_topo_node_t, 56);
FIELD(weft_topo_node_t, size, 0);
FIELD(weft_topo_node_t, list, 8);
FIELD(weft_topo_node_t, caches, 16);
FIELD(weft_topo_node_t, memory, 24);
FIELD(weft_topo_node_t, bandwidth, 32);
FIELD(weft_topo_node_t, index, 40);
FIELD(weft_topo_node_t, package, 44);
FIELD(weft_topo_node_t, ncaches, 48);
FIELD(weft_topo_node_t, reserved, 52);

SIZE(weft_topo_core_t, 24);
FIELD(weft_topo_core_t, size, 0);
FIELD(weft_topo_core_t, node, 8);
FIELD(weft_topo_core_t, pus, 12);
FIELD(weft_topo_core_t, usable, 16);
FIELD(weft_topo_core_t, reserved, 20);

SIZE(weft_topo_branch_t, 40);
FIELD(weft_topo_branch_t, size, 0);
FIELD(weft_topo_branch_t, name, 8);
FIELD(weft_topo_branch_t, bandwidth, 16);
FIELD(weft_topo_branch_t, parent, 24);
FIELD(weft_topo_branch_t, node, 28);
FIELD(weft_topo_branch_t, bridges, 32);
FIELD(weft_topo_branch_t, reserved, 36);

SIZE(weft_topo_device_t, 64);
FIELD(weft_topo_device_t, size, 0);
FIELD(weft_topo_device_t, address, 8);
FIELD(weft_topo_device_t, model, 16);
FIELD(weft_topo_device_t, system, 24);
FIELD(weft_topo_device_t, pci, 32);
FIELD(weft_topo_device_t, speed, 40);
FIELD(weft_topo_device_t, kind, 48);
FIELD(weft_topo_device_t, branch, 52);
FIELD(weft_topo_device_t, node, 56);
FIELD(weft_topo_device_t, bridges, 60);

SIZE(weft_topo_link_t, 24);
FIELD(weft_topo_link_t, size, 0);
FIELD(weft_topo_link_t, bandwidth, 8);
FIELD(weft_topo_link_t, from, 16);
FIELD(weft_topo_link_t, to, 20);

SIZE(weft_topo_builder_t, 72);
FIELD(weft_topo_builder_t, size, 0);
FIELD(weft_topo_builder_t, core, 8);
FIELD(weft_topo_builder_t, set_machine, 16);
FIELD(weft_topo_builder_t, add_package, 24);
FIELD(weft_topo_builder_t, add_node, 32);
FIELD(weft_topo_builder_t, add_core, 40);
FIELD(weft_topo_builder_t, add_branch, 48);
FIELD(weft_topo_builder_t, add_device, 56);
FIELD(weft_topo_builder_t, add_link, 64);

SIZE(weft_topo_ops_t, 48);
FIELD(weft_topo_ops_t, size, 0);
FIELD(weft_topo_ops_t, create, 8);
FIELD(weft_topo_ops_t, destroy, 16);
FIELD(weft_topo_ops_t, discover, 24);
FIELD(weft_topo_ops_t, save, 32);
FIELD(weft_topo_ops_t, graph, 40);

#endif

VALUE(WEFT_PLUGIN_MAGIC, 0x74666577u);
VALUE(WEFT_ABI_NET_MAJOR, 1);
VALUE(WEFT_ABI_ALGO_MAJOR, 1);
VALUE(WEFT_ABI_KERNEL_MAJOR, 1);
VALUE(WEFT_ABI_TUNER_MAJOR, 2);
VALUE(WEFT_ABI_TOPO_MAJOR, 1);
VALUE(WEFT_KIND_NET, 1);
VALUE(WEFT_KIND_ALGO, 2);
VALUE(WEFT_KIND_KERNEL, 3);
VALUE(WEFT_KIND_TUNER, 4);
VALUE(WEFT_KIND_TOPO, 5);

VALUE(WEFT_OPTION_LIST, 4u);
VALUE(WEFT_OPT_BOOL, 1);
VALUE(WEFT_OPT_INT, 2);
VALUE(WEFT_OPT_SIZE, 3);
VALUE(WEFT_OPT_DURATION, 4);
VALUE(WEFT_OPT_REAL, 5);
VALUE(WEFT_OPT_STRING, 6);
VALUE(WEFT_OPT_CHOICE, 7);

VALUE(WEFT_OK, 0);
VALUE(WEFT_IN_PROGRESS, 1);
VALUE(WEFT_AGAIN, 2);
VALUE(WEFT_ERR_ARG, -1);
VALUE(WEFT_ERR_STATE, -2);
VALUE(WEFT_ERR_CONFIG, -3);
VALUE(WEFT_ERR_PLUGIN, -4);
VALUE(WEFT_ERR_MISMATCH, -5);
VALUE(WEFT_ERR_PEER_DEAD, -6);
VALUE(WEFT_ERR_PEER_UNRESPONSIVE, -7);
VALUE(WEFT_ERR_PEER_LEFT, -8);
VALUE(WEFT_ERR_LINK, -9);
VALUE(WEFT_ERR_TIMEOUT, -10);
VALUE(WEFT_ERR_ABORTED, -11);
VALUE(WEFT_ERR_AUTH, -12);
VALUE(WEFT_ERR_PROTO, -13);
VALUE(WEFT_ERR_RESOURCE, -14);
VALUE(WEFT_ERR_SYSTEM, -15);
VALUE(WEFT_ERR_INTERNAL, -16);
VALUE(WEFT_ERR_UNSUPPORTED, -17);
VALUE(WEFT_ERR_PLAN, -18);
VALUE(WEFT_ERR_REVOKED, -19);

VALUE(WEFT_INT8, 0);
VALUE(WEFT_UINT8, 1);
VALUE(WEFT_INT16, 2);
VALUE(WEFT_UINT16, 3);
VALUE(WEFT_INT32, 4);
VALUE(WEFT_UINT32, 5);
VALUE(WEFT_INT64, 6);
VALUE(WEFT_UINT64, 7);
VALUE(WEFT_FP16, 8);
VALUE(WEFT_FP32, 9);
VALUE(WEFT_FP64, 10);
VALUE(WEFT_BF16, 11);
VALUE(WEFT_FP8_E4M3, 12);
VALUE(WEFT_FP8_E5M2, 13);

VALUE(WEFT_SUM, 0);
VALUE(WEFT_PROD, 1);
VALUE(WEFT_MIN, 2);
VALUE(WEFT_MAX, 3);
VALUE(WEFT_AVG, 4);
VALUE(WEFT_PREMULSUM, 5);
VALUE(WEFT_BAND, 6);
VALUE(WEFT_BOR, 7);
VALUE(WEFT_BXOR, 8);

VALUE(WEFT_ALL_REDUCE, 0);
VALUE(WEFT_REDUCE_SCATTER, 1);
VALUE(WEFT_ALL_GATHER, 2);
VALUE(WEFT_BROADCAST, 3);
VALUE(WEFT_REDUCE, 4);
VALUE(WEFT_BARRIER, 5);

int main(void)
{
    return 0;
}
