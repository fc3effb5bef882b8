/*
 * query.h - queries to a cost model as text: what `orrery calibrate cost PROFILE OPERATOR
 * [key=value ...]` prints.
 *
 * Operators: gemm, attention_prefill, attention_decode, moe_ffn, memory; the collectives
 * all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv; and the exchanges
 * of experts' tokens: deepep_dispatch, deepep_combine (DeepEP), alltoall_prepare,
 * alltoall_dispatch, alltoall_combine, alltoall_combine_low_precision (TensorRT-LLM). A '-' in a
 * name is read as '_'. Keys have the names of the columns of the tables that profiles are made
 * from: gemm_dtype, m, n, k; batch_size, isl, step, num_heads, num_key_value_heads, head_dim;
 * num_tokens, hidden_size, inter_size, topk, num_experts, moe_tp_size, moe_ep_size, distribution,
 * projections; n_gpus, bytes; mode, node_num, gpus_per_node, num_token_per_rank, hidden;
 * kernel_source.
 */
#pragma once

#include "calibration/cost/cost.h"
#include "sim/base/csv.h"

/* @key_values: NULL-terminated "key=value". A collective without rows is modelled as a ring. FALSE
 * with ORR_FAULT_USAGE for an unknown operator or key (the message lists what is allowed), a
 * missing key, or a bad value; with ORR_FAULT_DOCUMENT where the answer needs a link that the
 * device does not state. */
gboolean orr_query_operator(const OrrCostModel *cost, const char *operator_name,
                            const char *const *key_values, OrrCost *ret_cost, GError **error);

/* A remark on that @answer: why the row measured there was excluded. NULL: no remark. Newly
 * allocated. */
char *orr_query_note(const OrrCostModel *cost, const char *operator_name,
                     const char *const *key_values, const OrrCost *answer);

/* Whether a table has a column for each key that the operator needs. FALSE for an unknown one. */
gboolean orr_query_has_columns(const char *operator_name, const OrrCsv *csv);

/* The CSV at @csv_path with the columns predicted_us and how appended; '#' lines and other columns
 * pass through. Rows whose column `op` names another operator get empty cells. FALSE with
 * ORR_FAULT_DOCUMENT for a missing column, one that resembles an absent key (orr_csv_check), or bad
 * cells, each with its line; with ORR_FAULT_RESOURCE where there is no such file. */
gboolean orr_query_rows(const OrrCostModel *cost, const char *operator_name, const char *csv_path,
                        char **ret_text, GError **error);

/* One line per operator: its name, its keys and their defaults. Newly allocated. */
char *orr_query_help(void);
