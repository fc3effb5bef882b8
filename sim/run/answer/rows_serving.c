/*
 * rows_serving.c - the tables of a serving run.
 */
#include "sim/run/answer/rows.h"

#define COLUMN(struct_, name_, kind_, member_, unit_, sentence_)                                   \
  {                                                                                                \
    .name = name_, .kind = kind_, .offset = offsetof(struct_, member_), .sentence = sentence_,     \
    .unit = unit_, .flags = ORR_FIELD_OPTIONAL                                                     \
  }
#define RESULT(name_, kind_, member_, unit_, sentence_)                                            \
  COLUMN(OrrServingResult, name_, kind_, member_, unit_, sentence_)
#define LATENCIES(name_, member_, what_)                                                           \
  RESULT(name_ "-mean-s", ORR_FIELD_REAL, member_.mean, ORR_UNIT_SECONDS, what_ ", mean."),        \
      RESULT(name_ "-p50-s", ORR_FIELD_REAL, member_.p50, ORR_UNIT_SECONDS, what_ ", median."),    \
      RESULT(name_ "-p90-s", ORR_FIELD_REAL, member_.p90, ORR_UNIT_SECONDS,                        \
             what_ ", 90th percentile."),                                                          \
      RESULT(name_ "-p95-s", ORR_FIELD_REAL, member_.p95, ORR_UNIT_SECONDS,                        \
             what_ ", 95th percentile."),                                                          \
      RESULT(name_ "-p99-s", ORR_FIELD_REAL, member_.p99, ORR_UNIT_SECONDS,                        \
             what_ ", 99th percentile.")

static const OrrField result_fields[] = {
    LATENCIES("ttft", ttft, "Time from arrival to the first token"),
    LATENCIES("tpot", tpot, "Time per output token after the first, of requests of two and more"),
    LATENCIES("itl", itl, "Inter-token latency, as the metrics' definition has it"),
    LATENCIES("e2e", e2e, "Time from arrival to the last token"),
    LATENCIES("queue", queue,
              "Time from arrival to the first step that computes any of the request"),
    RESULT("output-tokens-per-s", ORR_FIELD_REAL, output_tokens_per_s, ORR_UNIT_NONE,
           "Output tokens a second."),
    RESULT("input-tokens-per-s", ORR_FIELD_REAL, input_tokens_per_s, ORR_UNIT_NONE,
           "Prompt tokens a second."),
    RESULT("total-tokens-per-s", ORR_FIELD_REAL, total_tokens_per_s, ORR_UNIT_NONE, "Both."),
    RESULT("output-tokens-per-s-per-gpu", ORR_FIELD_REAL, output_tokens_per_s_per_gpu,
           ORR_UNIT_NONE, "Output tokens a second and GPU."),
    RESULT("requests-per-s", ORR_FIELD_REAL, requests_per_s, ORR_UNIT_NONE,
           "Requests that ended, a second."),
    RESULT("goodput-rps", ORR_FIELD_REAL, goodput_rps, ORR_UNIT_NONE,
           "Requests a second that met their objectives; all where there are none."),
    RESULT("kv-utilization", ORR_FIELD_REAL, kv_utilization, ORR_UNIT_FRACTION,
           "Share of the key-value cache that requests held, mean over the time of steps."),
    RESULT("kv-peak", ORR_FIELD_REAL, kv_peak, ORR_UNIT_FRACTION,
           "The same at most, on any replica."),
    RESULT("prefix-hit-rate", ORR_FIELD_REAL, prefix_hit_rate, ORR_UNIT_FRACTION,
           "Share of the prompt tokens that the prefix cache had, tiers below HBM included."),
    RESULT("prefix-host-rate", ORR_FIELD_REAL, prefix_host_rate, ORR_UNIT_FRACTION,
           "Of these, the share that came from host memory."),
    RESULT("prefix-ssd-rate", ORR_FIELD_REAL, prefix_ssd_rate, ORR_UNIT_FRACTION,
           "The share that came from SSD."),
    RESULT("prefix-remote-rate", ORR_FIELD_REAL, prefix_remote_rate, ORR_UNIT_FRACTION,
           "The share that came from the store on the network."),
    RESULT("preemptions", ORR_FIELD_INT, preemptions, ORR_UNIT_NONE,
           "Requests that lost their cache while they ran."),
    RESULT("completed", ORR_FIELD_INT, completed, ORR_UNIT_NONE,
           "Requests that are counted: all but the warm-up's."),
    RESULT(
        "rejected", ORR_FIELD_INT, rejected, ORR_UNIT_NONE,
        "Requests that the fleet did not let in: replicas and the queue at the router were full."),
    RESULT("retried", ORR_FIELD_INT, retried, ORR_UNIT_NONE,
           "Requests of replicas that were lost, taken up again by others; each time."),
    RESULT("failed", ORR_FIELD_INT, failed, ORR_UNIT_NONE,
           "Requests of replicas that were lost, given up."),
    RESULT("replicas-mean", ORR_FIELD_REAL, replicas_mean, ORR_UNIT_NONE,
           "Replicas that hold their GPUs (starting, up or draining), mean over the run."),
    RESULT("starts", ORR_FIELD_INT, starts, ORR_UNIT_NONE, "Replicas that started during the run."),
    RESULT("start-mean-s", ORR_FIELD_REAL, start_mean_s, ORR_UNIT_SECONDS,
           "How long a start took, mean."),
    RESULT("replica-imbalance", ORR_FIELD_REAL, replica_imbalance, ORR_UNIT_NONE,
           "GPU time of the busiest replica over the mean of all."),
    RESULT("handover-mean-s", ORR_FIELD_REAL, handover_mean_s, ORR_UNIT_SECONDS,
           "Where prefill and decode are apart: from a prompt's end to its cache being at the "
           "decoder, waits for room there "
           "included, mean."),
    RESULT("handover-bytes", ORR_FIELD_REAL, handover_bytes, ORR_UNIT_BYTES,
           "Bytes of caches that were handed over."),
    RESULT("encode-mean-s", ORR_FIELD_REAL, encode_mean_s, ORR_UNIT_SECONDS,
           "Where images are encoded on GPUs of their own: from a request's coming to its "
           "embeddings being where its prompt is "
           "computed, mean."),
    RESULT("encoder-busy", ORR_FIELD_REAL, encoder_busy, ORR_UNIT_FRACTION,
           "Share of the run that encoders computed."),
    RESULT("image-hit-rate", ORR_FIELD_REAL, image_hit_rate, ORR_UNIT_FRACTION,
           "Share of images whose embeddings an encoder had."),
    RESULT("embedding-bytes", ORR_FIELD_REAL, embedding_bytes, ORR_UNIT_BYTES,
           "Bytes of embeddings that encoders sent to replicas."),
    RESULT("steps", ORR_FIELD_INT, steps, ORR_UNIT_NONE, "Steps of all replicas."),
    RESULT("running-mean", ORR_FIELD_REAL, running_mean, ORR_UNIT_NONE,
           "Sequences that ran on a replica, mean over the time of steps."),
    RESULT("gpu-busy", ORR_FIELD_REAL, gpu_busy, ORR_UNIT_FRACTION,
           "Share of the run that GPUs computed."),
    RESULT("comm-fraction", ORR_FIELD_REAL, comm_fraction, ORR_UNIT_FRACTION,
           "Share of that in tensor-parallel collectives."),
    RESULT("acceptance-rate", ORR_FIELD_REAL, acceptance_rate, ORR_UNIT_FRACTION,
           "Share of the guessed tokens that were right; 0 without speculation."),
    RESULT("tokens-per-check", ORR_FIELD_REAL, tokens_per_check, ORR_UNIT_NONE,
           "Tokens that a step writes of a request that decodes, mean: 1 and the guesses that were "
           "right."),
    RESULT("adapter-loads", ORR_FIELD_INT, adapter_loads, ORR_UNIT_NONE,
           "Low-rank adapters that were brought to a GPU because a request asked for them."),
    RESULT("energy-j-per-output-token", ORR_FIELD_REAL, energy_j_per_output_token, ORR_UNIT_NONE,
           "Joules of all GPUs for each output token, by metrics.busy-power and idle-power."),
    RESULT("cost-per-million-output-tokens", ORR_FIELD_REAL, cost_per_million_output_tokens,
           ORR_UNIT_NONE,
           "Price of the GPUs' time for a million output tokens; 0: no price was given."),
    RESULT("duration-s", ORR_FIELD_REAL, duration_s, ORR_UNIT_SECONDS,
           "From the first arrival that is counted to the last token."),
    RESULT("offered-rps", ORR_FIELD_REAL, offered_rps, ORR_UNIT_NONE,
           "Requests that came, a second, till the last."),
    RESULT("saturated", ORR_FIELD_BOOL, saturated, ORR_UNIT_NONE,
           "Whether requests came faster than they were served: latencies then grow with the "
           "length of the run."),
    RESULT("kv-blocks", ORR_FIELD_INT, kv_blocks, ORR_UNIT_NONE,
           "Blocks of a rank's key-value cache."),
    RESULT("kv-bytes-per-token", ORR_FIELD_REAL, kv_bytes_per_token, ORR_UNIT_BYTES,
           "Bytes of a token in it."),
    RESULT("weights-bytes", ORR_FIELD_REAL, weights_bytes, ORR_UNIT_BYTES, "Weights of a GPU."),
    RESULT("memory-bytes", ORR_FIELD_REAL, memory_bytes, ORR_UNIT_BYTES,
           "Weights, activations, reserved and cache of a GPU."),
    RESULT("littles-law-error", ORR_FIELD_REAL, littles_law_error, ORR_UNIT_NONE,
           "Relative difference of the integral of requests in the system and the sum of their "
           "times in it."),
    RESULT("ttft-error-p50", ORR_FIELD_REAL, ttft_error_p50, ORR_UNIT_NONE,
           "Of a measured trace, each request's error of ttft over the measured one, without sign: "
           "median."),
    RESULT("ttft-error-p90", ORR_FIELD_REAL, ttft_error_p90, ORR_UNIT_NONE,
           "The same, 90th percentile."),
    RESULT("tpot-error-p50", ORR_FIELD_REAL, tpot_error_p50, ORR_UNIT_NONE,
           "The same of tpot, median."),
    RESULT("tpot-error-p90", ORR_FIELD_REAL, tpot_error_p90, ORR_UNIT_NONE,
           "The same, 90th percentile."),
    RESULT("e2e-error-p50", ORR_FIELD_REAL, e2e_error_p50, ORR_UNIT_NONE,
           "The same of e2e, median."),
    RESULT("e2e-error-p90", ORR_FIELD_REAL, e2e_error_p90, ORR_UNIT_NONE,
           "The same, 90th percentile."),
    RESULT("n-gpus", ORR_FIELD_INT, n_gpus, ORR_UNIT_NONE, "GPUs of all replicas."),
    RESULT("replicas", ORR_FIELD_INT, replicas, ORR_UNIT_NONE, "Engines."),
    RESULT("tp", ORR_FIELD_INT, tp, ORR_UNIT_NONE, "Tensor-parallel size."),
    RESULT("pp", ORR_FIELD_INT, pp, ORR_UNIT_NONE, "Pipeline-parallel size."),
    RESULT("events", ORR_FIELD_INT, events, ORR_UNIT_NONE, "Engine events of the run."),
    RESULT("wall-time-s", ORR_FIELD_REAL, wall_time_s, ORR_UNIT_SECONDS,
           "Wall time of the simulation."),
};
const OrrFieldTable orr_serving_result_table = ORR_FIELD_TABLE(
    "serving_result", "One row a serving run: the answer.", OrrServingResult, result_fields);

#define REQUEST(name_, kind_, member_, unit_, sentence_)                                           \
  COLUMN(OrrServingRequestRow, name_, kind_, member_, unit_, sentence_)
static const OrrField request_fields[] = {
    REQUEST("request", ORR_FIELD_INT, request, ORR_UNIT_NONE, "Its number, in order of arrival."),
    REQUEST("replica", ORR_FIELD_INT, replica, ORR_UNIT_NONE, "The replica that served it."),
    REQUEST("class", ORR_FIELD_TEXT, group, ORR_UNIT_NONE, "Its class."),
    REQUEST("arrival-s", ORR_FIELD_REAL, arrival_s, ORR_UNIT_SECONDS, "When it came."),
    REQUEST("queue-s", ORR_FIELD_REAL, queue_s, ORR_UNIT_SECONDS,
            "From there to the first step that computes any of it."),
    REQUEST("ttft-s", ORR_FIELD_REAL, ttft_s, ORR_UNIT_SECONDS, "Time to the first token."),
    REQUEST("tpot-s", ORR_FIELD_REAL, tpot_s, ORR_UNIT_SECONDS,
            "Time per output token after the first; 0: it has one."),
    REQUEST("e2e-s", ORR_FIELD_REAL, e2e_s, ORR_UNIT_SECONDS, "Time to the last token."),
    REQUEST("input-tokens", ORR_FIELD_INT, input_tokens, ORR_UNIT_NONE, "Tokens of its prompt."),
    REQUEST("output-tokens", ORR_FIELD_INT, output_tokens, ORR_UNIT_NONE, "Tokens of its output."),
    REQUEST("cached-tokens", ORR_FIELD_INT, cached_tokens, ORR_UNIT_NONE,
            "Prompt tokens that the prefix cache had."),
    REQUEST("preemptions", ORR_FIELD_INT, preemptions, ORR_UNIT_NONE,
            "How often it lost its cache."),
    REQUEST("handover-s", ORR_FIELD_REAL, handover_s, ORR_UNIT_SECONDS,
            "From its prompt's end to its cache being at the decoder; NULL: it was computed where "
            "it decoded."),
    REQUEST("measured-ttft-s", ORR_FIELD_REAL, measured_ttft_s, ORR_UNIT_SECONDS,
            "Of a measured trace: its time to the first token there."),
    REQUEST("measured-tpot-s", ORR_FIELD_REAL, measured_tpot_s, ORR_UNIT_SECONDS,
            "Its time per output token there."),
    REQUEST("measured-e2e-s", ORR_FIELD_REAL, measured_e2e_s, ORR_UNIT_SECONDS,
            "Its time to the last token there."),
    REQUEST("good", ORR_FIELD_BOOL, good, ORR_UNIT_NONE, "Whether it met its objectives."),
};
const OrrFieldTable orr_serving_request_table =
    ORR_FIELD_TABLE("serving_request", "One row a request, evenly spaced where there are many.",
                    OrrServingRequestRow, request_fields);

#define STEP(name_, kind_, member_, unit_, sentence_)                                              \
  COLUMN(OrrServingStepRow, name_, kind_, member_, unit_, sentence_)
static const OrrField step_fields[] = {
    STEP("replica", ORR_FIELD_INT, replica, ORR_UNIT_NONE, "The replica."),
    STEP("begin-s", ORR_FIELD_REAL, begin_s, ORR_UNIT_SECONDS, "When the step began."),
    STEP("step-s", ORR_FIELD_REAL, step_s, ORR_UNIT_SECONDS, "How long it took."),
    STEP("tokens", ORR_FIELD_INT, tokens, ORR_UNIT_NONE, "Tokens that it computed."),
    STEP("prefill-tokens", ORR_FIELD_INT, prefill_tokens, ORR_UNIT_NONE, "Of them, of prompts."),
    STEP("decodes", ORR_FIELD_INT, decodes, ORR_UNIT_NONE, "Sequences that decoded."),
    STEP("running", ORR_FIELD_INT, running, ORR_UNIT_NONE, "Requests that were running."),
    STEP("waiting", ORR_FIELD_INT, waiting, ORR_UNIT_NONE, "Requests that waited."),
    STEP("kv-utilization", ORR_FIELD_REAL, kv_utilization, ORR_UNIT_FRACTION,
         "Share of the cache that requests held."),
};
const OrrFieldTable orr_serving_step_table = ORR_FIELD_TABLE(
    "serving_step", "One row a step of a replica, evenly spaced where there are many.",
    OrrServingStepRow, step_fields);

#define REPLICA(name_, kind_, member_, unit_, sentence_)                                           \
  COLUMN(OrrServingReplicaRow, name_, kind_, member_, unit_, sentence_)
static const OrrField replica_fields[] = {
    REPLICA("replica", ORR_FIELD_INT, replica, ORR_UNIT_NONE, "The replica."),
    REPLICA("requests", ORR_FIELD_INT, requests, ORR_UNIT_NONE, "Requests that it served."),
    REPLICA("steps", ORR_FIELD_INT, steps, ORR_UNIT_NONE, "Steps."),
    REPLICA("preemptions", ORR_FIELD_INT, preemptions, ORR_UNIT_NONE, "Preemptions."),
    REPLICA("most-running", ORR_FIELD_INT, most_running, ORR_UNIT_NONE,
            "Most requests that ran at once."),
    REPLICA("evicted-blocks", ORR_FIELD_INT, evicted_blocks, ORR_UNIT_NONE,
            "Blocks of the prefix cache whose room was needed."),
    REPLICA("running-mean", ORR_FIELD_REAL, running_mean, ORR_UNIT_NONE,
            "Requests that ran, mean over its steps' time."),
    REPLICA("gpu-busy", ORR_FIELD_REAL, gpu_busy, ORR_UNIT_FRACTION,
            "Share of the run that its GPUs computed."),
    REPLICA("host-fraction", ORR_FIELD_REAL, host_fraction, ORR_UNIT_FRACTION,
            "Share of the run that they waited for the host."),
    REPLICA("kv-utilization", ORR_FIELD_REAL, kv_utilization, ORR_UNIT_FRACTION,
            "Share of its cache held, mean over its steps' time."),
    REPLICA("kv-peak", ORR_FIELD_REAL, kv_peak, ORR_UNIT_FRACTION, "The same at most."),
    REPLICA("prefix-hit-rate", ORR_FIELD_REAL, prefix_hit_rate, ORR_UNIT_FRACTION,
            "Share of prompt tokens that its prefix cache had."),
};
const OrrFieldTable orr_serving_replica_table =
    ORR_FIELD_TABLE("serving_replica", "One row a replica.", OrrServingReplicaRow, replica_fields);

#define CLASS(name_, kind_, member_, unit_, sentence_)                                             \
  COLUMN(OrrServingClassRow, name_, kind_, member_, unit_, sentence_)
static const OrrField class_fields[] = {
    CLASS("class", ORR_FIELD_TEXT, group, ORR_UNIT_NONE, "The class's name."),
    CLASS("completed", ORR_FIELD_INT, completed, ORR_UNIT_NONE, "Its requests that are counted."),
    CLASS("share-good", ORR_FIELD_REAL, share_good, ORR_UNIT_FRACTION,
          "Share of them that met their objectives."),
    CLASS("goodput-rps", ORR_FIELD_REAL, goodput_rps, ORR_UNIT_NONE, "Those, a second."),
    CLASS("ttft-mean-s", ORR_FIELD_REAL, ttft_mean_s, ORR_UNIT_SECONDS,
          "Time to the first token, mean."),
    CLASS("ttft-p99-s", ORR_FIELD_REAL, ttft_p99_s, ORR_UNIT_SECONDS, "The same, 99th percentile."),
    CLASS("tpot-mean-s", ORR_FIELD_REAL, tpot_mean_s, ORR_UNIT_SECONDS,
          "Time per output token, mean."),
    CLASS("tpot-p99-s", ORR_FIELD_REAL, tpot_p99_s, ORR_UNIT_SECONDS, "The same, 99th percentile."),
    CLASS("e2e-mean-s", ORR_FIELD_REAL, e2e_mean_s, ORR_UNIT_SECONDS,
          "Time to the last token, mean."),
};
const OrrFieldTable orr_serving_class_table = ORR_FIELD_TABLE(
    "serving_class", "One row a class of requests.", OrrServingClassRow, class_fields);

static const OrrField turn_fields[] = {
    COLUMN(OrrServingTurnRow, "at-s", ORR_FIELD_REAL, at_s, ORR_UNIT_SECONDS, "When."),
    COLUMN(OrrServingTurnRow, "replica", ORR_FIELD_INT, replica, ORR_UNIT_NONE, "Its number."),
    COLUMN(OrrServingTurnRow, "state", ORR_FIELD_TEXT, state, ORR_UNIT_NONE,
           "What it is from then on: off, starting, up, draining (takes no more requests) or down "
           "(its node is lost)."),
};
const OrrFieldTable orr_serving_turn_table =
    ORR_FIELD_TABLE("serving_turn", "One row a change of a replica, where they come and go.",
                    OrrServingTurnRow, turn_fields);
