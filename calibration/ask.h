/*
 * ask.h - one question to a cost model as text: what `orrery cost PROFILE OPERATOR [key=value ...]`
 * prints.
 *
 * Operators: gemm, attention_prefill, attention_decode, moe_ffn, memory, and the collectives
 * all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, sendrecv; of experts' tokens
 * deepep_dispatch, deepep_combine (DeepEP), alltoall_prepare, alltoall_dispatch, alltoall_combine,
 * alltoall_combine_low_precision (TensorRT-LLM). A '-' in a name is a '_'. Keys are named as the
 * columns of the tables that profiles are made from: gemm_dtype, m, n, k; batch_size, isl, step,
 * num_heads, num_key_value_heads, head_dim; num_tokens, hidden_size, inter_size, topk, num_experts,
 * moe_tp_size, moe_ep_size, distribution, projections; n_gpus, bytes; mode, node_num,
 * gpus_per_node, num_token_per_rank, hidden; kernel_source.
 */
#ifndef ORR_ASK_H
#define ORR_ASK_H

#include "calibration/cost/cost.h"

G_BEGIN_DECLS

/* @key_values: NULL-terminated "key=value". FALSE with ORR_FAULT_USAGE: an unknown operator or
 * key (with what is allowed), a missing key, a value that is none; ORR_FAULT_DOCUMENT: a device
 * that states no link, asked for what needs one. A collective without rows is modelled as a
 * ring. */
gboolean orr_ask_operator(const OrrCostModel *cost, const char *operator_name,
                          const char *const *key_values, OrrCost *ret_cost, GError **error);

/* What is to be known about that answer beside how it is known: a row that was set aside. NULL:
 * nothing, or no answer. Newly allocated. */
char *orr_ask_note(const OrrCostModel *cost, const char *operator_name,
                   const char *const *key_values);

/* The CSV at @csv_path with predicted_us and how appended to each row; '#' lines and other
 * columns pass through. Rows whose column `op` names another operator get empty cells. FALSE
 * with ORR_FAULT_DOCUMENT: a missing column, or bad cells, each line named; ORR_FAULT_RESOURCE:
 * no such file. */
gboolean orr_ask_rows(const OrrCostModel *cost, const char *operator_name, const char *csv_path,
                      char **ret_text, GError **error);

/* One line an operator: its name, its keys, and what they default to. Newly allocated. */
char *orr_ask_help(void);

G_END_DECLS

#endif
