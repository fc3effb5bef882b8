/*
 * rows.h - the facts of a run as typed rows. Each table is a field table: the results database
 * makes its SQL table from it, `--json` prints it, the reference documents it.
 */
#ifndef ORR_ROWS_H
#define ORR_ROWS_H

#include "sim/base/field.h"

G_BEGIN_DECLS

typedef struct {
  double iteration_time_s, step_p50_s, step_p99_s, tokens_per_s, tokens_per_s_per_gpu;
  double model_tflops_per_gpu, hardware_tflops_per_gpu, mfu, hfu, peak_tflops_per_gpu;
  double memory_peak_bytes, allocator_peak_bytes, headroom_bytes;
  double host_memory_peak_bytes, host_headroom_bytes;
  gboolean fits;
  double bubble_fraction, exposed_comm_fraction, padding_fraction;
  gint64 n_gpus, tp, pp, dp, cp, micro_batches;
  double layer_forward_s, layer_backward_s;
  gint64 events;
  double wall_time_s;
  gint64 costs_outside;
} OrrTrainingResult;

/* Of the last size, but for mean_busbw. */
typedef struct {
  double time_s, algbw_bytes_per_s, busbw_bytes_per_s, size_bytes;
  double mean_busbw_bytes_per_s;
  gint64 n_gpus, n_ranks, n_groups, n_sizes;
  gint64 events;
  double wall_time_s;
} OrrCollectivesResult;

/* Of latencies of requests, or of gaps between tokens; seconds. */
typedef struct {
  double mean, p50, p90, p95, p99;
} OrrLatencies;

typedef struct {
  OrrLatencies ttft, tpot, itl, e2e, queue;
  double output_tokens_per_s, input_tokens_per_s, total_tokens_per_s, requests_per_s, goodput_rps;
  double output_tokens_per_s_per_gpu;
  double kv_utilization, kv_peak, prefix_hit_rate;
  gint64 preemptions, completed, rejected, steps;
  double replicas_mean, start_mean_s;
  gint64 retried, failed, starts;
  double replica_imbalance, handover_mean_s, handover_bytes;
  double encode_mean_s, encoder_busy, image_hit_rate, embedding_bytes;
  double running_mean, gpu_busy, comm_fraction;
  double acceptance_rate, tokens_per_check;
  gint64 adapter_loads;
  double prefix_host_rate, prefix_ssd_rate, prefix_remote_rate;
  double energy_j_per_output_token, cost_per_million_output_tokens;
  double duration_s, offered_rps;
  gboolean saturated;
  gint64 kv_blocks;
  double kv_bytes_per_token, weights_bytes, memory_bytes;
  double littles_law_error;
  double ttft_error_p50, ttft_error_p90, tpot_error_p50, tpot_error_p90, e2e_error_p50,
      e2e_error_p90;
  gint64 n_gpus, replicas, tp, pp;
  gint64 events;
  double wall_time_s;
} OrrServingResult;

/* A run's answer: the member of its kind (kinds.h). */
typedef union {
  OrrTrainingResult training;
  OrrCollectivesResult collectives;
  OrrServingResult serving;
} OrrResult;

typedef struct {
  gint64 size_bytes, count;
  char *type, *redop;
  gint64 root;
  double time_s, algbw_bytes_per_s, busbw_bytes_per_s;
  char *collective, *algorithm, *protocol, *how;
  double alone_s;
} OrrNcclTestRow;

typedef struct {
  gint64 step;
  double begin_s, end_s;
} OrrStepRow;

typedef struct {
  gint64 lane;
  char *name;
  gint64 multiplicity, stage, replica;
  double compute_s, comm_s, wait_s, other_s, end_s;
} OrrLaneRow;

typedef struct {
  gint64 lane;
  char *stream, *name, *category;
  gint64 micro_batch; /* -1: none */
  double begin_s, started_s, end_s;
} OrrSpanRow;

typedef struct {
  gint64 lane;
  char *category;
  double seconds, fraction;
} OrrTimeRow;

typedef struct {
  char *phase, *name, *kind;
  gint64 count;
  double seconds_each, seconds_total;
  char *how;
  double flops, bytes;
} OrrOperatorRow;

typedef struct {
  char *name, *op, *algorithm;
  gint64 n_ranks;
  double bytes;
  gint64 count;
  double latency_s, predicted_s, mean_s, busbw_bytes_per_s;
  char *how;
} OrrCollectiveRow;

typedef struct {
  char *link, *kind;
  gint64 stands_for;
  double bandwidth_bytes_per_s, bytes, utilization;
} OrrLinkRow;

typedef struct {
  char *link;
  double begin_s, end_s, bytes, utilization;
} OrrLinkTimeRow;

typedef struct {
  char *job;
  gint64 first_run, n_gpus;
  char *gpus;
  double start_s, end_s, together_s, alone_s, slowdown;
} OrrJobRow;

typedef struct {
  char *name;
  gint64 count;
  double bytes, alone_s, mean_s, wall_s, bytes_per_s;
} OrrStorageRow;

typedef struct {
  gint64 fault;
  char *kind, *what;
  double begin_s, end_s;                                             /* end NAN: it stays */
  double step_before_s, step_during_s, step_after_s, step_without_s; /* NAN: there is none */
} OrrFaultRow;

typedef struct {
  char *text;
} OrrWarningRow;

typedef struct {
  char *how;
  double seconds;
} OrrCostTrustRow;

typedef struct {
  gint64 stage;
  double weights_bytes, gradients_bytes, optimizer_bytes, activations_bytes;
  double working_bytes, buffers_bytes, fragmentation_bytes;
  double flat_copies_bytes, workspace_bytes, communicators_bytes, context_bytes;
  double host_bytes;
  double total_bytes, capacity_bytes;
} OrrMemoryRow;

typedef struct {
  gint64 stage, chunk;
  char *unit, *operator;
  gint64 units;
  double kept_bytes, host_bytes, replayed_bytes;
  gint64 micro_batches;
  double peak_bytes;
} OrrActivationRow;

typedef struct {
  gint64 stage;
  char *what;
  gint64 chunk, micro_batch; /* -1: none */
  double begin_s, end_s;
  double fixed_bytes, activations_bytes, working_bytes, after_bytes, total_bytes;
} OrrMemoryTimeRow;

typedef struct {
  gint64 request, replica;
  char *group;
  double arrival_s, queue_s, ttft_s, tpot_s, e2e_s;
  double handover_s;                                       /* NAN: none */
  double measured_ttft_s, measured_tpot_s, measured_e2e_s; /* NAN: not measured */
  gint64 input_tokens, output_tokens, cached_tokens, preemptions;
  gboolean good;
} OrrServingRequestRow;

typedef struct {
  gint64 replica;
  double begin_s, step_s;
  gint64 tokens, prefill_tokens, decodes, running, waiting;
  double kv_utilization;
} OrrServingStepRow;

typedef struct {
  gint64 replica, requests, steps, preemptions, most_running, evicted_blocks;
  double running_mean, gpu_busy, host_fraction, kv_utilization, kv_peak, prefix_hit_rate;
} OrrServingReplicaRow;

typedef struct {
  char *group;
  gint64 completed;
  double share_good, goodput_rps, ttft_mean_s, ttft_p99_s, tpot_mean_s, tpot_p99_s, e2e_mean_s;
} OrrServingClassRow;

typedef struct {
  double at_s;
  gint64 replica;
  char *state;
} OrrServingTurnRow;

extern const OrrFieldTable orr_serving_result_table, orr_serving_request_table,
    orr_serving_step_table, orr_serving_replica_table, orr_serving_class_table,
    orr_serving_turn_table;
extern const OrrFieldTable orr_training_result_table, orr_collectives_result_table,
    orr_nccl_test_table, orr_step_table, orr_lane_table, orr_span_table, orr_time_kind_table,
    orr_operator_cost_table, orr_collective_table, orr_link_use_table, orr_link_time_table,
    orr_memory_table, orr_activation_table, orr_memory_time_table, orr_warning_table,
    orr_cost_trust_table, orr_job_row_table, orr_fault_row_table, orr_storage_row_table;

/* All of them, NULL-terminated: for documentation and for views over a new database. */
extern const OrrFieldTable *const orr_row_tables[];

G_END_DECLS

#endif
