/*
 * serving.c - the documents of a serving workload, and its entry.
 */
#include "workloads/serving/serving.h"

#include "workloads/expert_loads/expert_load.h"
#include "workloads/serving/fleet/fleet.h"

const char *const orr_metrics_words[] = {"vllm", "aiperf", NULL};
static const char *const sampling_words[] = {"all", "top-p", NULL};
static const char *const preemption_words[] = {"recompute", "swap", NULL};

#define COUNT(type_, name_, member_, least_, fallback_, sentence_)                                 \
  ORR_FIELD_INT(type_, name_, member_, fallback_, sentence_, .min = least_, .max = 1e9)
#define SECONDS(type_, name_, member_, fallback_, sentence_)                                       \
  ORR_FIELD_REAL(type_, name_, member_, ORR_UNIT_SECONDS, fallback_, sentence_,                    \
                 .flags = ORR_FIELD_UNSIGNED)
#define SHARE(type_, name_, member_, fallback_, sentence_)                                         \
  ORR_FIELD_REAL(type_, name_, member_, ORR_UNIT_FRACTION, fallback_, sentence_, .min = 0, .max = 1)
#define PART(type_, name_, member_, table_, sentence_)                                             \
  ORR_FIELD_SECTION(type_, name_, member_, &(table_), "{}", sentence_)

static const OrrField host_fields[] = {
    SECONDS(OrrServingHost, "step", step_s, "0 s",
            "Host time between two steps: scheduling, inputs, outputs."),
    SECONDS(OrrServingHost, "sequence", sequence_s, "0 s", "Host time per step and sequence."),
    SECONDS(OrrServingHost, "sampling", sampling_s, "0 s",
            "GPU time per sequence to sort its logits, where workload.sampling is top-p."),
    ORR_FIELD_BOOL(
        OrrServingHost, "async", async, "false",
        "Asynchronous scheduling: the host prepares a step while the GPUs compute the previous "
        "one, so requests that arrive in the meantime join one step later."),
    SHARE(OrrServingHost, "exposed", exposed, "0",
          "Fraction of the host's time for which GPUs wait even with asynchronous scheduling: the "
          "work between two steps, once the tokens of the first are known."),
    SECONDS(OrrServingHost, "launch", launch_s, "0 s",
            "Host time per kernel where a step is launched eagerly; 0: the profile's host-launch."),
    SECONDS(OrrServingHost, "token", token_s, "0 s",
            "Time from the end of a step to the client, for detokenisation and streaming: delays "
            "tokens but blocks nothing."),
    COUNT(OrrServingHost, "neighbours", neighbours, 1, "1",
          "Servers whose processes share a node's CPUs, this one among them: where their threads "
          "are more than the cores, each step waits for the others' time slices."),
    COUNT(OrrServingHost, "cores", cores, 0, "0",
          "CPU cores that these servers share; 0: all of the node (node.host.cores)."),
    COUNT(OrrServingHost, "threads", threads, 0, "1",
          "Threads of a server that must all have run before a step goes on; 0: one per core, as "
          "in PyTorch's OpenMP teams."),
};
static const OrrFieldTable host_table =
    ORR_FIELD_TABLE("serving-host", "The CPU's work between steps.", OrrServingHost, host_fields);

static const OrrField front_fields[] = {
    COUNT(OrrFrontEnd, "processes", processes, 0, "1",
          "Processes that share the requests of an engine (vLLM's api-server-count, SGLang's "
          "tokenizer-worker-num). 0: a program calls the engine without a server (vLLM's LLM, "
          "SGLang's Engine), and none of the times below is spent."),
    SECONDS(OrrFrontEnd, "request", request_s, "0 s",
            "Time per request before it comes to the engine: HTTP, parsing, hand-over."),
    SECONDS(OrrFrontEnd, "prompt-token", prompt_token_s, "0 s",
            "Time per token of a prompt, for tokenisation."),
    SECONDS(OrrFrontEnd, "chunk", chunk_s, "0 s",
            "Time per chunk of an output: detokenisation, formatting, streaming."),
    SECONDS(OrrFrontEnd, "written-token", written_token_s, "0 s",
            "Time per chunk for each token that its output has already: the cost of a reasoning "
            "parser or a copy of the whole output."),
    COUNT(OrrFrontEnd, "stream-interval", interval, 1, "1",
          "Tokens per chunk; the first and the last token are never held back."),
};
static const OrrFieldTable front_table = ORR_FIELD_TABLE(
    "serving-front-end", "The processes between an engine and its clients; jobs queue for them.",
    OrrFrontEnd, front_fields);

#define AMOUNT(type_, name_, member_, fallback_, unit_, sentence_)                                 \
  ORR_FIELD_REAL(type_, name_, member_, unit_, fallback_, sentence_, .flags = ORR_FIELD_UNSIGNED)

static const char *const prefetch_words[] = {"none", "best-effort", "wait-complete", "timeout",
                                             NULL};
static const char *const ssd_words[] = {"replica", "node", NULL};
static const char *const write_words[] = {"through", "back", NULL};
static const OrrField tiers_fields[] = {
    AMOUNT(OrrCacheTiers, "host", host_bytes, "0 B", ORR_UNIT_BYTES,
           "Host memory per replica for blocks; read over each GPU's host link."),
    AMOUNT(OrrCacheTiers, "ssd", ssd_bytes, "0 B", ORR_UNIT_BYTES, "SSD per replica for blocks."),
    ORR_FIELD_WORD(OrrCacheTiers, "ssd-of", ssd_of, ssd_words, "replica",
                   "Which replicas' reads queue for one SSD: a replica's alone, or the reads of "
                   "all replicas whose first GPU is in the same node. Each keeps its own blocks."),
    AMOUNT(OrrCacheTiers, "ssd-bandwidth", ssd_bytes_per_s, "6 GB/s", ORR_UNIT_BYTES_PER_S,
           "Rate at which all ranks of a core read together; one PCIe 4 drive by its datasheet."),
    AMOUNT(OrrCacheTiers, "ssd-write-bandwidth", ssd_write_bytes_per_s, "0 B/s",
           ORR_UNIT_BYTES_PER_S,
           "Rate of its writes, which queue with reads; 0: they take none of its time."),
    ORR_FIELD_WORD(OrrCacheTiers, "ssd-writes", ssd_writes, write_words, "through",
                   "When blocks go to the SSD: through: when they are computed; back: when host "
                   "memory drops them."),
    SECONDS(OrrCacheTiers, "ssd-latency", ssd_latency_s, "100 us",
            "Latency of the SSD's first byte, once per read."),
    AMOUNT(OrrCacheTiers, "remote", remote_bytes, "0 B", ORR_UNIT_BYTES,
           "Store on the network, shared by all replicas."),
    AMOUNT(OrrCacheTiers, "remote-bandwidth", remote_bytes_per_s, "0 B/s", ORR_UNIT_BYTES_PER_S,
           "Fixed rate at which a rank reads from it; 0: flows over the fabric, from the servers "
           "of cluster.storage or, without them, from the host memory of all nodes."),
    COUNT(OrrCacheTiers, "remote-readers", remote_readers, 0, "0",
          "With remote-bandwidth: reads that the store serves at once; others queue; 0: no limit."),
    SECONDS(OrrCacheTiers, "remote-latency", remote_latency_s, "20 us",
            "Latency of its first byte, once per read."),
    ORR_FIELD_WORD(
        OrrCacheTiers, "prefetch", prefetch, prefetch_words, "none",
        "Reads from SSD and store to host memory while a request queues (SGLang's HiCache). none: "
        "its first step waits for them; best-effort: those that finish before it starts; "
        "wait-complete: all, and it waits; timeout: all, within 2 s plus 0.1 s per 1,024 tokens, "
        "at most 30 s."),
    COUNT(OrrCacheTiers, "prefetch-threshold", prefetch_threshold, 1, "256",
          "Fewest tokens for which to prefetch."),
};
static const OrrFieldTable tiers_table =
    ORR_FIELD_TABLE("cache-tiers", "Where blocks are kept below HBM.", OrrCacheTiers, tiers_fields);

static const OrrField lora_fields[] = {
    COUNT(OrrServingLora, "adapters", adapters, 0, "0",
          "Number of adapters; each request uses one; 0: none."),
    COUNT(OrrServingLora, "max-loras", slots, 1, "8",
          "Adapters on the GPU at once; others come over the host link when a request asks for "
          "them."),
    ORR_FIELD_REAL(
        OrrServingLora, "skew", skew, ORR_UNIT_NONE, "1",
        "Exponent of the power law of requests over adapters; 0: all are requested equally often.",
        .min = 0, .max = 10),
    PART(OrrServingLora, "shape", shape, orr_lora_table, "The shape of an adapter."),
};
static const OrrFieldTable lora_table =
    ORR_FIELD_TABLE("serving-lora", "Low-rank adapters in serving.", OrrServingLora, lora_fields);

static const OrrField engine_fields[] = {
    ORR_FIELD_CHOICE(OrrEngineParams, "scheduler", scheduler, &orr_scheduler_registry, "vllm",
                     "Chooses the requests that the next step computes."),
    COUNT(OrrEngineParams, "max-num-seqs", max_num_seqs, 1, "256",
          "Maximum number of concurrent sequences."),
    COUNT(OrrEngineParams, "max-num-batched-tokens", max_num_batched_tokens, 1, "8192",
          "Maximum number of tokens per step."),
    COUNT(OrrEngineParams, "max-model-len", max_model_len, -1, "0",
          "Longest request, prompt and output; 0: the model's context; -1: what the cache holds."),
    COUNT(OrrEngineParams, "recv-interval", recv_interval, 1, "1",
          "Steps of decodes after which the engine looks for new requests (SGLang's "
          "scheduler-recv-interval); it also looks after each step with prompts and while idle."),
    COUNT(OrrEngineParams, "block-size", block_size, 1, "16",
          "Tokens per block of the key-value cache."),
    COUNT(OrrEngineParams, "kv-blocks", kv_blocks, 0, "0",
          "Blocks per rank; 0: as many as fit next to weights, activations and reserved memory."),
    SHARE(OrrEngineParams, "gpu-memory-utilization", memory_utilization, "90 %",
          "Fraction of the device's memory that the engine may use."),
    SHARE(OrrEngineParams, "cache-fraction", cache_fraction, "100 %",
          "Fraction of the memory without weights, activations and reserved that the cache takes "
          "(TensorRT-LLM's free_gpu_memory_fraction)."),
    ORR_FIELD_REAL(OrrEngineParams, "reserved", reserved_bytes, ORR_UNIT_BYTES, "2 GiB",
                   "Memory for everything but weights, activations and cache: CUDA's context, "
                   "NCCL's buffers, graphs.",
                   .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_BOOL(
        OrrEngineParams, "profile-activations", profiles_activations, "true",
        "Whether the engine measures at start how much memory a step of max-num-batched-tokens "
        "tokens takes in addition to weights, and gives the cache the rest (vLLM, TensorRT-LLM); "
        "false: activations take memory outside the fraction (SGLang)."),
    ORR_FIELD_REAL(OrrEngineParams, "sampler-peak", sampler_peak_bytes, ORR_UNIT_BYTES, "4 B",
                   "Memory at the sampler's peak for each logit of max-num-seqs sequences in that "
                   "measurement; 4 B: the logits in fp32 alone.",
                   .flags = ORR_FIELD_UNSIGNED),
    SHARE(OrrEngineParams, "watermark", watermark, "0",
          "Fraction of the blocks that an admission leaves free."),
    ORR_FIELD_BOOL(
        OrrEngineParams, "reserve-prompt", reserve_prompt, "true",
        "Whether an admission needs room for the whole prompt, not only its first chunk."),
    ORR_FIELD_WORD(
        OrrEngineParams, "preemption", preemption, preemption_words, "recompute",
        "Treatment of a preempted request's cache: recomputed, or swapped to the host and back."),
    ORR_FIELD_WORD(
        OrrEngineParams, "prefix-caching", prefix_caching, orr_prefix_words, "none",
        "Whether blocks are reused: no, by vLLM's block hashes, or by SGLang's radix tree."),
    SHARE(
        OrrEngineParams, "window-room", window_room, "0",
        "Tokens that layers with a window or chunks have room for, per token of the other layers' "
        "room. 0: layers share the memory and keep only their window (vLLM's hybrid cache "
        "manager); 1: they keep all tokens (TensorRT-LLM without max_attention_window); between: "
        "SGLang's swa-full-tokens-ratio."),
    COUNT(OrrEngineParams, "experts-at-once", experts_at_once, 0, "32768",
          "Tokens for which the experts' kernels have room: longer steps are cut, at no cost in "
          "time. 0: a step's, of all groups of dp-attention (TensorRT-LLM)."),
    ORR_FIELD_BOOL(OrrEngineParams, "keep-workspaces", keeps_workspaces, "false",
                   "Whether the experts' workspaces stay allocated while the sampler runs."),
    COUNT(OrrEngineParams, "cuda-graph-max-size", graph_largest, 0, "512",
          "Steps with at most this many cuda-graph-units run as CUDA graphs; 0: none."),
    ORR_FIELD_WORD(
        OrrEngineParams, "cuda-graph-unit", graph_unit, orr_graph_unit_words, "tokens",
        "What a graph's size counts: tokens (vLLM), so that a decode with k drafts counts 1 + k; "
        "or the sequences of a step that decodes alone (TensorRT-LLM, SGLang)."),
    ORR_FIELD_WORD(
        OrrEngineParams, "cuda-graph-sizes", graph_sizes, orr_graph_sizes_words, "even",
        "Sizes captured after 1, 2, 4 and the multiples of 8. even: to 256, then multiples of 16 "
        "(vLLM, SGLang); powers-of-two: to 128, then powers of two and the largest "
        "(TensorRT-LLM)."),
    ORR_FIELD_BOOL(
        OrrEngineParams, "cuda-graph-prompts", graph_prompts, "true",
        "Whether steps with prompts run as graphs too (piecewise graphs); otherwise only those "
        "that decode alone do."),
    ORR_FIELD_BOOL(
        OrrEngineParams, "cuda-graph-padding", graph_padding, "true",
        "Whether such a step is padded to the next captured size (1, 2, 4, 8, 16, 24 ... 256, 272 "
        "...)."),
    ORR_FIELD_BOOL(
        OrrEngineParams, "eager-prefill", eager, "true",
        "Whether other steps are launched kernel by kernel, and take at least host.launch for "
        "each."),
    PART(OrrEngineParams, "expert-kernels", experts, orr_expert_kernels_table,
         "Kernels of a layer's routed experts, by engine, release and format."),
    ORR_FIELD_REAL(
        OrrEngineParams, "cross-bandwidth", cross_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
        "Rate at which a multiprocessor reads keys and values in decodes of cross-attention, where "
        "its kernel keeps too few loads under way for the memory's own rate; 0: as in any decode.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_REAL(
        OrrEngineParams, "chunked-bandwidth", chunked_bytes_per_s, ORR_UNIT_BYTES_PER_S, "0 B/s",
        "The same in decodes of layers that attend within chunks, once for each query head.",
        .flags = ORR_FIELD_UNSIGNED),
    ORR_FIELD_TEXT(OrrEngineParams, "all-reduce", all_reduce, "auto",
                   "All-reduce of tensor parallelism: nccl, auto (vLLM's own up to 8 MiB in one "
                   "domain, otherwise NCCL), or an algorithm of `orrery list collectives`."),
    COUNT(
        OrrEngineParams, "stage-tensors", stage_tensors, 1, "2",
        "Vectors of the model's width that a pipeline stage sends to the next for each token: the "
        "hidden state, and the residual where it is separate."),
    ORR_FIELD_BOOL(
        OrrEngineParams, "stage-slices", stage_slices, "true",
        "Whether each tensor-parallel rank sends its slice of them, which the next stage gathers "
        "(vLLM, SGLang); false: each rank sends all of it (TensorRT-LLM)."),
    ORR_FIELD_WORD(
        OrrEngineParams, "kernels", kernels, orr_kernel_library_words, "any",
        "Library of the linear layers' products, where the profile has rows of several; any: the "
        "profile's own table."),
    ORR_NCCL_FIELD(OrrEngineParams),
    PART(OrrEngineParams, "lora", lora, lora_table,
         "Low-rank adapters: many per batch, some on the GPU."),
    PART(OrrEngineParams, "cache-tiers", tiers, tiers_table,
         "Cache tiers below HBM, from which blocks are reused; needs prefix-caching."),
    ORR_FIELD_CHOICE(
        OrrEngineParams, "speculation", speculation, &orr_speculation_registry, "none",
        "Speculative decoding: the drafter of the tokens that a step checks together."),
    PART(OrrEngineParams, "host", host, host_table, "The CPU's work between steps."),
    PART(OrrEngineParams, "front-end", front, front_table,
         "The processes that parse requests, tokenise, detokenise and stream."),
};
static const OrrFieldTable engine_table = ORR_FIELD_TABLE(
    "serving-engine", "One engine, as vLLM v1 names its settings.", OrrEngineParams, engine_fields);

static const OrrField feed_fields[] = {
    COUNT(
        OrrFeedForwardPool, "gpus", gpus, 0, "0",
        "GPUs of a replica, after attention's, that compute feed-forwards alone, dense, routed and "
        "shared: parallel.ep groups of whole experts; 0: attention's GPUs do."),
    COUNT(OrrFeedForwardPool, "micro-batches", micro_batches, 1, "1",
          "Parts of a step's batch that are under way at once: while one is with attention another "
          "is with the feed-forwards."),
    ORR_FIELD_SECTION(OrrFeedForwardPool, "device", device, &orr_device_table, NULL,
                      "Device of these GPUs, in nodes like the others; by default attention's.",
                      .document = "device", .flags = ORR_FIELD_OPTIONAL),
};
static const OrrFieldTable feed_table = ORR_FIELD_TABLE(
    "feed-forward-pool", "Feed-forwards on GPUs of their own.", OrrFeedForwardPool, feed_fields);

static const OrrFieldTable rebalance_table = ORR_FIELDS(
    "serving-rebalance", "How often a balancer moves experts, while their loads change.",
    OrrRebalance,
    SECONDS(OrrRebalance, "interval", interval_s, "0 s",
            "Time between two plans, each of the loads at that moment; the engine stands still "
            "while weights move. 0: the plan always knows the loads, and moves nothing."),
    SECONDS(OrrRebalance, "drift", drift_s, "0 s",
            "Time in which the correlation of experts' loads falls to 1/e; nobody has published "
            "one."));

static const OrrFieldTable two_batches_table = ORR_FIELDS(
    "two-batches", "Halves of a step's batch: one computes while the other exchanges its tokens.",
    OrrTwoBatches,
    COUNT(OrrTwoBatches, "decodes", decodes, 0, "0",
          "Tokens of a rank from which on a step that decodes alone is cut; 0: never."),
    COUNT(OrrTwoBatches, "prompts", prompts, 0, "0",
          "Tokens of a rank from which on a step with prompts is cut; 0: never."),
    COUNT(OrrTwoBatches, "held", held, 0, "20",
          "Multiprocessors that an exchange holds from the other half's kernels, unless it is by "
          "low-latency kernels; 20 is vLLM's VLLM_DBO_COMM_SMS and DeepEP's num_sms."));

static const char *const expert_placement_words[] = {"drawn", "packed", NULL};
static const OrrField parallel_fields[] = {
    COUNT(OrrServingParallel, "tp", tp, 1, "1", "Tensor-parallel size."),
    COUNT(OrrServingParallel, "pp", pp, 1, "1",
          "Pipeline-parallel size, and number of batches in flight."),
    COUNT(OrrServingParallel, "ep", ep, 1, "1",
          "Expert-parallel size: whole experts are distributed over this many of the tp * "
          "dp-attention ranks, or of feed-forward.gpus; the rest of the ranks split each expert."),
    ORR_FIELD_TEXT(OrrServingParallel, "all-to-all", all_to_all, "auto",
                   "Exchange of experts' tokens under dp-attention: auto (DeepEP's low-latency "
                   "kernels up to 128 tokens per rank, else its normal ones), nccl, gather (its "
                   "all-gather and reduce-scatter), or one of `orrery list collectives`."),
    ORR_FIELD_REAL(OrrServingParallel, "imbalance", imbalance, ORR_UNIT_NONE, "0",
                   "Exponent of the power law of tokens over experts; 0: each token draws its "
                   "experts, without preference.",
                   .min = 0, .max = 1.99),
    ORR_FIELD_CHOICE(OrrServingParallel, "expert-load", load, &orr_expert_load_registry, "balanced",
                     "How tokens spread over experts; a step waits for the rank that gets most. "
                     "Excludes imbalance."),
    COUNT(OrrServingParallel, "redundant-experts", redundant, 0, "0",
          "Copies of experts beyond one of each (vLLM's num_redundant_experts; TensorRT-LLM's "
          "num_slots less the experts): of the most loaded ones, and on all ranks together."),
    ORR_FIELD_WORD(OrrServingParallel, "expert-placement", placement, expert_placement_words,
                   "drawn",
                   "Where experts are: drawn, as without a balancer, or packed by load, as a "
                   "balancer that knows the loads packs them (EPLB)."),
    PART(OrrServingParallel, "rebalance", rebalance, rebalance_table,
         "With expert-placement packed: new plans over time."),
    COUNT(OrrServingParallel, "dp-attention", dp_attention, 1, "1",
          "Ranks of attention data parallelism: engine cores with their own requests that step "
          "together."),
    PART(OrrServingParallel, "two-batches", two_batches, two_batches_table,
         "Two-batch overlap under dp-attention (SGLang --enable-two-batch-overlap, vLLM "
         "--enable-dbo)."),
    PART(OrrServingParallel, "feed-forward", feed, feed_table,
         "Feed-forwards apart from attention, on GPUs of their own."),
};
static const OrrFieldTable parallel_table = ORR_FIELD_TABLE(
    "serving-parallel", "How an engine is split over GPUs.", OrrServingParallel, parallel_fields);

/* Members of an OrrServingFormats at `formats`. */
#define FORMATS(type)                                                                              \
  ORR_FIELD_WORD(                                                                                  \
      type, "quantization", formats.quantization, orr_quantization_words, "none",                  \
      "How the layers' weights are stored and multiplied, as engines name it; none: by "           \
      "precision."),                                                                               \
      PART(type, "weights", formats.weights, orr_weight_formats_table,                             \
           "Parts of the layers whose weights have another format than quantization says."),       \
      ORR_FIELD_WORD(type, "precision", formats.precision, orr_dtype_names, "bf16",                \
                     "Number format of the layers' weights."),                                     \
      ORR_FIELD_WORD(type, "activations", formats.activations, orr_dtype_names, "bf16",            \
                     "Number format between kernels, and of embedding and head."),                 \
      ORR_FIELD_WORD(type, "kv-dtype", formats.kv, orr_dtype_names, "bf16",                        \
                     "Number format of the key-value cache.")

static const OrrField group_fields[] = {
    COUNT(OrrReplicaGroup, "replicas", replicas, 1, "1", "How many."),
    PART(OrrReplicaGroup, "parallel", parallel, parallel_table,
         "How each replica is split over GPUs."),
    ORR_FIELD_SECTION(OrrReplicaGroup, "device", device, &orr_device_table, NULL,
                      "Device of their GPUs, in nodes like the others; by default the cluster's.",
                      .document = "device", .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTION(OrrReplicaGroup, "model", model, &orr_model_table, NULL,
                      "Model that they serve, to requests of the classes that ask it; by default "
                      "the scenario's.",
                      .document = "model", .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_TEXT(OrrReplicaGroup, "region", region, NULL,
                   "Region in which they are, one of `regions`; by default the first, in which the "
                   "replicas of no group are.",
                   .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_BOOL(OrrReplicaGroup, "shares", shares, "false",
                   "Whether they are on the GPUs of the group before: on each GPU one replica is "
                   "awake, and another one starts when a request waits for it."),
    ORR_FIELD_SECTION(
        OrrReplicaGroup, "engine", engine, &engine_table, NULL,
        "Settings in which their engines differ: batches, graphs, speculation, the host; the rest "
        "as the workload's engine. Blocks of the cache, prefix caching, adapters and cache tiers "
        "are the same in all groups; with disaggregation kv-dtype is too. A setting that is null "
        "is as if the workload's engine did not give it.",
        .flags = ORR_FIELD_OPTIONAL),
    FORMATS(OrrReplicaGroup),
};
static const OrrFieldTable group_table = ORR_FIELD_TABLE(
    "replica-group", "Replicas that differ from the first ones.", OrrReplicaGroup, group_fields);

static const char *const window_words[] = {"all", "full", "steady", NULL};

static const OrrField metrics_fields[] = {
    ORR_FIELD_WORD(
        OrrServingMetricsParams, "definition", definition, orr_metrics_words, "vllm",
        "Whose definitions: vLLM's benchmark (inter-token latencies of all tokens in one pool; an "
        "output of one token "
        "meets any tpot) or NVIDIA's AIPerf (each request's mean; it meets none)."),
    ORR_FIELD_WORD(
        OrrServingMetricsParams, "window", window, window_words, "all",
        "What counts: all, as benchmark tools do; or the output tokens while the engines are full, "
        "from the first token of as many requests as they can hold (max-num-seqs each) to the "
        "first token of the last request; or the steady state: the run goes on until it has one, "
        "and its start and its end do not count."),
    SECONDS(OrrServingMetricsParams, "warmup", warmup_s, "0 s",
            "Requests that arrive earlier are not counted."),
    COUNT(OrrServingMetricsParams, "request-rows", request_rows, 0, "10000",
          "Maximum rows of serving_request, evenly spaced; 0: none."),
    COUNT(OrrServingMetricsParams, "step-rows", step_rows, 0, "2000",
          "Maximum rows of serving_step, evenly spaced; 0: none."),
};
static const OrrMovedKey metrics_moved[] = {
    {"busy-power", "power.active and power.tensor of the device"},
    {"idle-power", "power.static of the device"},
    {"price-per-gpu-hour", "prices.gpu-hour of the scenario"},
    {NULL, NULL}};
static const OrrFieldTable metrics_table = {.name = "serving-metrics",
                                            .sentence = "What is counted, and how.",
                                            .size = sizeof(OrrServingMetricsParams),
                                            .fields = metrics_fields,
                                            .n_fields = G_N_ELEMENTS(metrics_fields),
                                            .moved = metrics_moved};

static const OrrField admission_fields[] = {
    COUNT(OrrAdmission, "in-flight", in_flight, 0, "0",
          "Maximum concurrent requests per replica; others wait at the router. 0: no limit."),
    COUNT(OrrAdmission, "queue", queue, -1, "-1",
          "Maximum requests waiting at the router; others are rejected. -1: no limit."),
};
static const OrrFieldTable admission_table = ORR_FIELD_TABLE(
    "admission", "Limits at the gateway of the fleet.", OrrAdmission, admission_fields);

static const OrrField autoscaling_fields[] = {
    ORR_FIELD_CHOICE(OrrAutoscaling, "by", by, &orr_autoscaler_registry, "none",
                     "The rule that computes the number of replicas."),
    COUNT(OrrAutoscaling, "least", least, 1, "1",
          "Minimum and initial number of replicas, per pool."),
    ORR_FIELD_REAL(OrrAutoscaling, "interval", interval_s, ORR_UNIT_SECONDS, "15 s",
                   "Time between two evaluations; 15 s is Kubernetes'.",
                   .flags = ORR_FIELD_POSITIVE),
    SECONDS(OrrAutoscaling, "down-after", down_after_s, "300 s",
            "Scale down only to the largest number needed within this time; 300 s is Kubernetes'."),
};
static const OrrFieldTable autoscaling_table = ORR_FIELD_TABLE(
    "autoscaling", "How many of the replicas are up.", OrrAutoscaling, autoscaling_fields);

static const OrrField start_fields[] = {
    SECONDS(OrrReplicaStart, "overhead", overhead_s, "0 s",
            "Time of a start before its weights: container, CUDA's context, graphs."),
    ORR_FIELD_BOOL(
        OrrReplicaStart, "weights", weights, "true",
        "Whether a start reads the weights from the file system (cluster.storage), over the "
        "fabric."),
    ORR_FIELD_BOOL(OrrReplicaStart, "warm", warm, "true",
                   "Whether the first replicas are up when the run begins, or start then."),
    ORR_FIELD_BOOL(
        OrrReplicaStart, "sleeps", sleeps, "false",
        "Whether a replica that is no longer wanted keeps its weights in host memory and "
        "its process alive (vLLM's sleep mode, level 1): it starts again by `wake` and a "
        "copy over its GPUs' host links."),
    SECONDS(OrrReplicaStart, "wake", wake_s, "0 s",
            "Time of such a start before its weights: memory is mapped, graphs are there."),
    SECONDS(OrrReplicaStart, "stays", stays_s, "0 s",
            "Of replicas that share GPUs: how long one stays at least before another gets them."),
};
static const OrrFieldTable start_table =
    ORR_FIELD_TABLE("replica-start", "Times until a replica is up.", OrrReplicaStart, start_fields);

static const char *const failure_words[] = {"retry", "fail", NULL};
static const char *const transfer_words[] = {"whole", "per-layer", NULL};
static const OrrField disaggregation_fields[] = {
    COUNT(OrrDisaggregation, "prefill", prefill, 0, "0",
          "Number of replicas, the first ones, that only prefill while the others decode; 0: all "
          "do both."),
    ORR_FIELD_WORD(
        OrrDisaggregation, "transfer", transfer, transfer_words, "whole",
        "Whether a prompt's cache is pulled when it is whole, or pushed layer by layer while it "
        "is computed."),
    COUNT(OrrDisaggregation, "least-prompt", least_prompt, 0, "0",
          "Tokens; prompts with fewer tokens missing in the decoder's prefix cache are computed "
          "where they decode."),
    COUNT(OrrDisaggregation, "most-waiting", most_waiting, -1, "-1",
          "Prompts waiting for a prefill; with as many, the next is computed where it decodes; -1: "
          "however many."),
    SECONDS(OrrDisaggregation, "overhead", overhead_s, "0 s",
            "Latency of a transfer before its bytes flow."),
};
static const OrrFieldTable disaggregation_table =
    ORR_FIELD_TABLE("disaggregation", "Prefill and decode on different replicas.",
                    OrrDisaggregation, disaggregation_fields);

static const OrrField encoders_fields[] = {
    COUNT(OrrEncoderPool, "replicas", replicas, 0, "0",
          "Encoders of one GPU each, on the GPUs after the engines'; 0: replicas encode images."),
    COUNT(OrrEncoderPool, "cache", cache, 0, "0",
          "Tokens of images whose embeddings an encoder keeps, and each GPU of an engine in "
          "memory that its keys and values lack; 0: engine.max-num-batched-tokens, as vLLM."),
    COUNT(OrrEncoderPool, "batch", batch, 0, "0",
          "Tokens of images encoded together, or one image; 0: engine.max-num-batched-tokens."),
    ORR_FIELD_CHOICE(
        OrrEncoderPool, "router", router, &orr_router_registry, "round-robin",
        "Chooses the encoder of an image; session-affinity keeps an image on its encoder."),
    SECONDS(OrrEncoderPool, "overhead", overhead_s, "0 s",
            "Latency of a transfer of embeddings before its bytes flow."),
};
static const OrrFieldTable encoders_table = ORR_FIELD_TABLE(
    "encoder-pool", "Images are encoded on GPUs of their own.", OrrEncoderPool, encoders_fields);

static const OrrField beams_fields[] = {
    COUNT(OrrBeamSearch, "width", width, 1, "1",
          "Beams per request, all of which its client gets; 1: no search."),
    ORR_FIELD_REAL(OrrBeamSearch, "skew", skew, ORR_UNIT_NONE, "0",
                   "Exponent of the power law by which beams continue better ones; 0: all equally.",
                   .min = 0, .max = 10),
};
static const OrrFieldTable beams_table =
    ORR_FIELD_TABLE("beam-search", "Several candidates of an output, the best kept token by token.",
                    OrrBeamSearch, beams_fields);

static const OrrField fields[] = {
    ORR_WORKLOAD_STACK_FIELD(OrrServing),
    PART(OrrServing, "engine", engine, engine_table, "The engine's settings."),
    PART(OrrServing, "parallel", parallel, parallel_table, "How an engine is split over GPUs."),
    COUNT(OrrServing, "replicas", replicas, 0, "1",
          "Engines that share the load; 0: as many as the GPUs hold."),
    ORR_FIELD_SECTIONS(
        OrrServing, "groups", groups, &group_table, NULL,
        "Replicas of another layout or device, numbered after the ones that `replicas` counts.",
        .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_CHOICE(OrrServing, "router", router, &orr_router_registry, "round-robin",
                     "Chooses the replica of a request."),
    PART(OrrServing, "admission", admission, admission_table, "Limits on admitted requests."),
    PART(OrrServing, "autoscaling", autoscaling, autoscaling_table,
         "How many of the replicas are up."),
    PART(OrrServing, "start", start, start_table, "Times until a replica is up."),
    ORR_FIELD_WORD(OrrServing, "on-failure", on_failure, failure_words, "retry",
                   "Requests of a lost replica: computed again elsewhere, the generated tokens "
                   "included, or failed."),
    PART(OrrServing, "disaggregation", disaggregation, disaggregation_table,
         "Prefill and decode on different replicas."),
    FORMATS(OrrServing),
    ORR_FIELD_CHOICE(OrrServing, "load", load, &orr_arrival_registry, NULL,
                     "When requests come; required but for rollouts of post-training.",
                     .flags = ORR_FIELD_OPTIONAL),
    COUNT(OrrServing, "max-concurrency", max_concurrency, 0, "0",
          "Requests that the clients keep in flight at most, as --max-concurrency of benchmarks "
          "does: others wait at the client, and their latencies count from when they are sent; 0: "
          "no limit."),
    COUNT(OrrServing, "requests", requests, 0, "0",
          "Requests in all; 0: all of the trace, 10 for each client of a closed loop, else "
          "1,000. With metrics.window: steady, the requests that count at least; 0: 400. Of a "
          "trace: how many of its first requests are taken; a steady state replays them all."),
    PART(OrrServing, "input", input, orr_lengths_table,
         "Lengths of prompts, if the load does not provide them."),
    PART(OrrServing, "output", output, orr_lengths_table,
         "Lengths of outputs, if the load does not provide them."),
    COUNT(OrrServing, "shared-prefix", shared_prefix, 0, "0",
          "Tokens with which all prompts begin: before drawn ones, a part of a trace's."),
    COUNT(OrrServing, "distinct-prefixes", distinct_prefixes, 1, "1",
          "Number of shared prefixes from which requests draw, evenly."),
    ORR_FIELD_WORD(OrrServing, "sampling", sampling, sampling_words, "all",
                   "The tokens to draw from: all (greedy too), or the likeliest ones (top-p, "
                   "top-k), for which the engine sorts the logits of each sequence."),
    COUNT(OrrServing, "samples", samples, 1, "1",
          "Outputs of each prompt (vLLM's n): the others begin after the first one's first token, "
          "and share its full blocks where prefix-caching is on."),
    PART(OrrServing, "beam-search", beams, beams_table,
         "Several candidates of an output, the best kept token by token."),
    COUNT(OrrServing, "images", images, 0, "0",
          "Images of each prompt, at its begin: encoded in its first step; their tokens add to "
          "drawn lengths."),
    COUNT(OrrServing, "distinct-images", distinct_images, 0, "0",
          "Number of images from which requests draw, evenly; 0: each request has its own. With "
          "encoders."),
    PART(OrrServing, "encoders", encoders, encoders_table,
         "Images are encoded on GPUs of their own."),
    PART(OrrServing, "slo", slo, orr_slo_table,
         "Objectives that a request must meet to count as goodput."),
    ORR_FIELD_SECTIONS(OrrServing, "classes", classes, &orr_request_class_table, NULL,
                       "Classes of requests, drawn by their weights.", .flags = ORR_FIELD_OPTIONAL),
    ORR_FIELD_SECTIONS(OrrServing, "regions", regions, &orr_region_table, NULL,
                       "Where clients and replicas are; by default all are in one place.",
                       .flags = ORR_FIELD_OPTIONAL),
    PART(OrrServing, "between-regions", between, orr_between_regions_table,
         "How requests get from region to region."),
    ORR_FIELD_SECTION(
        OrrServing, "tasks", tasks, &orr_tasks_table, NULL,
        "Requests are small programs: turns, tools, searches, branches. The load says "
        "when tasks come, `requests` how many, `input` what each begins with.",
        .flags = ORR_FIELD_OPTIONAL),
    PART(OrrServing, "metrics", metrics, metrics_table, "What is counted, and how."),
    SECONDS(OrrServing, "longest-queue", most_queue_s, "0 s",
            "A request that waits longer for its first step ends the run: the queue diverges; 0: "
            "never."),
    ORR_FIELD_REAL(OrrServing, "least-good", least_good, ORR_UNIT_FRACTION, "0",
                   "With metrics.window: steady, the fraction of requests that is to meet the "
                   "objectives: a run that surely misses it ends early, and one that is near it "
                   "goes on; 0: no fraction is asked for.",
                   .min = 0, .max = 1),
};
const OrrFieldTable orr_serving_table =
    ORR_FIELD_TABLE("serving", "Engines that answer requests, step by step.", OrrServing, fields);

const OrrWorkloadKind orr_serving_kind = {
    .entry = {"serving",
              "Inference serving: continuous batching, a paged key-value cache, step by step.",
              &orr_serving_table},
    .default_family = "vllm",
    .check = orr_serving_check,
    .refuse_return = orr_serving_check_return,
    .compile = orr_serving_compile,
    .work_free = orr_serving_compile_free,
    .begin = orr_fleet_begin,
    .finish = orr_fleet_finish,
    .times = orr_fleet_times,
};
