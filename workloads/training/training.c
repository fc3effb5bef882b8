/*
 * training.c - the entry: the document's fields with a sentence each, and the kind that checks and
 * compiles them.
 *
 * Sections that only one file reads have their tables in that file: packing, offload, memory,
 * loader, noise.
 */
#include "workloads/training/training.h"

#include "workloads/training/cost/training_packing.h"
#include "workloads/training/emit/training_loader.h"
#include "workloads/training/emit/training_noise.h"
#include "workloads/training/job/training_offload.h"
#include "workloads/training/memory/training_memory.h"
#include "workloads/training/training_compile.h"

static const char *const optimizer_words[] = {"adam", NULL};
static const char *const moments_words[] = {"fp32", "bf16", NULL};
static const char *const master_words[] = {"fp32", "weights", NULL};
static const char *const gradient_words[] = {"fp32", "same", NULL};
static const char *const dispatch_words[] = {"flat", "deepep", "hierarchical", NULL};
static const char *const choice_words[] = {"drawn", "in-turn", NULL};
static const char *const mlp_words[] = {"grouped", "sequential", NULL};
static const char *const glue_words[] = {"fused", "apart", NULL};
static const char *const launches_words[] = {"ahead", "blocking", "graphs", "graphs-but-experts",
                                             NULL};
static const char *const method_words[] = {"uniform", "block", NULL};
static const char *const checkpoint_words[] = {"sync", "async", NULL};

/* Sizes are limited so that a product of three fits 64 bits. */
#define SIZE(key_, member_, fallback_, least_, sentence_)                                          \
  ORR_FIELD_INT(OrrParallel, key_, member_, fallback_, sentence_, .min = least_, .max = 1e6)
#define SECTION(key_, member_, table_, fallback_, sentence_)                                       \
  ORR_FIELD_SECTION(OrrTraining, key_, member_, &table_, fallback_, sentence_)

static const OrrField parallel_fields[] = {
    SIZE("tp", tp, "1", 1, "Tensor-parallel size: GPUs that split every layer."),
    SIZE("pp", pp, "1", 1, "Pipeline-parallel size: stages that split the model by layers."),
    SIZE("dp", dp, "0", 0,
         "Data-parallel size: replicas of the model; 0: as many as fit the GPUs."),
    SIZE("cp", cp, "1", 1, "Context-parallel size: GPUs that split each sequence."),
    SIZE("ep", ep, "1", 1,
         "Expert-parallel size: GPUs that split the experts; their groups can span replicas."),
    SIZE("etp", etp, "0", 0,
         "Expert-tensor-parallel size: GPUs that split each expert; 0: tp where the model has "
         "experts, else 1."),
    ORR_FIELD_WORD(
        OrrParallel, "context", context, orr_context_words, "p2p",
        "How context-parallel GPUs attend to all keys: p2p (a ring that overlaps attention), "
        "all-gather (Llama 3), all-to-all (Ulysses), hierarchical (all-to-all among "
        "context-inner GPUs, rings across), or gathered-ring (PyTorch's, compiled: the ring's "
        "steps after one all-gather)."),
    SIZE("context-inner", context_inner, "1", 1,
         "For hierarchical context parallelism: GPUs that exchange heads; rings run over the cp / "
         "context-inner others (Megatron's hierarchical-context-parallel-sizes are these two)."),
    ORR_FIELD_BOOL(
        OrrParallel, "sequence-parallel", sequence_parallel, "false",
        "Shard norms, dropouts and residuals over the tensor-parallel group by sequence."),
    ORR_FIELD_BOOL(
        OrrParallel, "keep-gathered", keep_gathered, "false",
        "With sequence parallelism, keep gathered inputs for the backward, as PyTorch's DTensor "
        "does; false: gather them again, as Megatron does."),
    ORR_FIELD_BOOL(
        OrrParallel, "async-tp-all-reduce", async_tp_all_reduce, "true",
        "Overlap the backward's tensor-parallel collectives with the weight-gradient GEMM that "
        "follows them."),
    ORR_FIELD_CHOICE(OrrParallel, "tp-comm-overlap", tp_comm_overlap, &orr_tp_overlap_registry,
                     "none",
                     "How gathers and scatters are split into slices that overlap their products."),
    ORR_FIELD_TEXT(OrrParallel, "order", order, "tp-cp-dp-pp",
                   "Axes of the rank grid, fastest-varying first; rank r runs on GPU r. ep can "
                   "stand before dp (the default: ranks with different experts are neighbours) or "
                   "after it."),
};
static const OrrFieldTable parallel_table =
    ORR_FIELD_TABLE("parallel", "How the model is split over GPUs.", OrrParallel, parallel_fields);

static const OrrField checkpoint_fields[] = {
    ORR_FIELD_INT(OrrCheckpoint, "every", every, "0",
                  "Steps from one checkpoint to the next; 0: never.", .min = 0, .max = 1e9),
    ORR_FIELD_WORD(
        OrrCheckpoint, "mode", mode, checkpoint_words, "sync",
        "sync: training waits for the write; async: training waits only for a copy to the host's "
        "memory, which is written during the next steps."),
    ORR_FIELD_BOOL(
        OrrCheckpoint, "sharded", sharded, "true",
        "Every rank writes a different slice; false: the first replica writes and the others "
        "wait."),
    ORR_FIELD_BOOL(OrrCheckpoint, "load", load, "false",
                   "Training begins by loading a checkpoint."),
};
static const OrrFieldTable checkpoint_table = ORR_FIELD_TABLE(
    "checkpoint", "When and how the state is saved.", OrrCheckpoint, checkpoint_fields);

static const OrrField batch_fields[] = {
    ORR_FIELD_INT(OrrBatch, "global", global_size, NULL,
                  "Sequences per optimizer step, over all replicas.", .min = 1, .max = 1e9),
    ORR_FIELD_INT(OrrBatch, "micro", micro, "1", "Sequences per micro-batch of one replica.",
                  .min = 1, .max = 1e9),
};
static const OrrFieldTable batch_table =
    ORR_FIELD_TABLE("batch", "Batch sizes in sequences.", OrrBatch, batch_fields);

static const OrrField comm_fields[] = {
    ORR_FIELD_BOOL(OrrPipelineComm, "overlap-p2p", overlap_p2p, "false",
                   "Let sends between stages overlap the compute that follows (Megatron's "
                   "overlap_p2p_comm)."),
    ORR_FIELD_BOOL(
        OrrPipelineComm, "scatter-gather", scatter_gather, "true",
        "Each tp rank sends 1/tp of the boundary tensor, and the receivers gather it over NVLink "
        "(SC21, section 4.1)."),
    ORR_FIELD_BOOL(
        OrrPipelineComm, "lock-step", lock_step, "false",
        "With several chunks per stage, all stages move in slots and wait for their neighbours "
        "after each (torch.distributed.pipelining)."),
    ORR_FIELD_WORD(
        OrrPipelineComm, "runtime", runtime, orr_training_handover_words, "auto",
        "Which tensors a stage holds while they are sent: megatron, one in each direction; torch "
        "(torch.distributed.pipelining), the tensors of all micro-batches until the step ends; "
        "auto: "
        "torch under fsdp and hsdp, else megatron."),
};
static const OrrFieldTable comm_table = ORR_FIELD_TABLE(
    "pipeline-comm", "How stages send activations to each other.", OrrPipelineComm, comm_fields);

static const OrrField split_fields[] = {
    ORR_FIELD_BOOL(OrrPipelineSplit, "count-embedding", count_embedding, "false",
                   "Count the embedding as one layer of the first stage (Megatron's "
                   "account-for-embedding-in-pipeline-split)."),
    ORR_FIELD_BOOL(OrrPipelineSplit, "count-loss", count_loss, "false",
                   "Count the output layer and loss as one layer of the last stage "
                   "(account-for-loss-in-pipeline-split)."),
    ORR_FIELD_BOOL(
        OrrPipelineSplit, "count-where-needed", count_where_needed, "false",
        "Count embedding and loss only where the layers alone cannot be divided, and with them "
        "can (NeMo's recipes)."),
    ORR_FIELD_BOOL(
        OrrPipelineSplit, "fill", fill, "false",
        "Where layers cannot be divided, every block takes the quotient rounded up and the last "
        "one the remainder, as in DeepSpeed's pipelines."),
    ORR_FIELD_INT(OrrPipelineSplit, "first", first, "0",
                  "Layers of the first stage (decoder-first-pipeline-num-layers); 0: as many as "
                  "the others.",
                  .min = 0, .max = 1e5),
    ORR_FIELD_INT(OrrPipelineSplit, "last", last, "0",
                  "Layers of the last stage (decoder-last-pipeline-num-layers); 0: as many as the "
                  "others.",
                  .min = 0, .max = 1e5),
    ORR_FIELD_TEXT(OrrPipelineSplit, "layout", layout, "none",
                   "Blocks in the order of the model, as in Megatron's "
                   "pipeline-model-parallel-layout: E embedding, t layer, m layer of multi-token "
                   "prediction (without one, in the last block), L loss, | ends a block, x*n and "
                   "(xy)*n repeat; or none."),
};
static const OrrFieldTable split_table =
    ORR_FIELD_TABLE("pipeline-split", "How layers are cut into stages; by default, evenly.",
                    OrrPipelineSplit, split_fields);

static const OrrField expert_fields[] = {
    ORR_UNSIGNED_REAL(OrrExpertDispatch, "capacity", capacity, ORR_UNIT_NONE, "0",
                      "Most tokens that an expert accepts, as a multiple of its balanced load; the "
                      "rest is dropped (moe-expert-capacity-factor). 0: no limit."),
    ORR_FIELD_BOOL(OrrExpertDispatch, "pad-to-capacity", pads, "false",
                   "Pad every expert to the capacity, so that all shapes are equal "
                   "(moe-pad-expert-input-to-capacity; GShard)."),
    ORR_UNSIGNED_REAL(OrrExpertDispatch, "imbalance", imbalance, ORR_UNIT_NONE, "0",
                      "Exponent of the power law of tokens over experts under which aiconfigurator "
                      "measured kernels; 0: load decides."),
    ORR_FIELD_CHOICE(OrrExpertDispatch, "load", load, &orr_expert_load_registry, "balanced",
                     "How tokens spread over experts; the scenario's seed draws which experts are "
                     "on one rank."),
    ORR_FIELD_BOOL(
        OrrExpertDispatch, "shared-expert-overlap", shared_expert_overlap, "false",
        "Overlap shared experts with the dispatch (Megatron's moe-shared-expert-overlap)."),
    ORR_FIELD_WORD(
        OrrExpertDispatch, "dispatch", dispatch, dispatch_words, "flat",
        "How tokens reach their experts: flat (NCCL's all-to-all, one copy per expert), "
        "hierarchical (likewise, in two steps, inside nodes and across them), or deepep (one copy "
        "per node, and inside the node one per rank)."),
    ORR_FIELD_INT(OrrExpertDispatch, "nodes", nodes, "0",
                  "Most nodes over which a token's experts are spread (DeepSeek-V3: 4), which "
                  "deepep uses; 0: any number.",
                  .min = 0, .max = 1e6),
    ORR_FIELD_WORD(OrrExpertDispatch, "choice", choice, choice_words, "drawn",
                   "Which experts each token has, as deepep sends it: drawn, any that its nodes "
                   "hold; in-turn, the next ones in order, which are neighbours (gates of "
                   "benchmarks that balance exactly: NeMo AutoModel's FakeBalancedGate)."),
    ORR_FIELD_BOOL(OrrExpertDispatch, "gather-map", gathers_map, "false",
                   "With deepep: before each dispatch every rank gathers where all tokens go, a "
                   "byte for each token and expert (HybridEP)."),
    ORR_FIELD_BOOL(OrrExpertDispatch, "router-fp32", router_fp32, "false",
                   "The router's backward multiplies in fp32, with copies of its input and of the "
                   "input's gradient (Megatron's moe-router-dtype fp32)."),
    ORR_FIELD_WORD(OrrExpertDispatch, "bias", bias, glue_words, "fused",
                   "How the bias of experts' second products is added, where the model has one: "
                   "fused, by the product; apart, by kernels of its own in fp32 (Megatron-Core's "
                   "TEGroupedMLP)."),
    ORR_FIELD_WORD(OrrExpertDispatch, "clamp", clamp, glue_words, "fused",
                   "How inputs of a clamped activation (gpt-oss) are clamped: fused, by the "
                   "activation or not at all; apart, by kernels of its own."),
    ORR_FIELD_WORD(OrrExpertDispatch, "padding", padding, glue_words, "fused",
                   "How each expert's tokens are padded to the rows that a product in a narrow "
                   "format needs: fused, by the router or the permutation; apart, by copies of "
                   "the experts' inputs and results (Transformer Engine's Fp8Padding and "
                   "Fp8Unpadding)."),
    ORR_FIELD_WORD(OrrExpertDispatch, "mlp", mlp, mlp_words, "grouped",
                   "How a rank runs its routed experts: grouped, by one grouped product for each "
                   "matrix; sequential, one expert after the other, each with products and kernels "
                   "of its own (Megatron's SequentialMLP, which is its default without "
                   "moe-grouped-gemm; Hugging Face's loops over experts until Transformers 4)."),
    ORR_FIELD_REAL(OrrExpertDispatch, "backward-rate", backward_rate, ORR_UNIT_FRACTION, "100 %",
                   "Rate of the routed experts' backward products, over input and weights, as a "
                   "fraction of their kernels' rate in the profile.",
                   .min = 0.2, .max = 1.5),
    ORR_FIELD_BOOL(OrrExpertDispatch, "sync", sync, "false",
                   "The host waits in each forward for the router, to learn how many tokens each "
                   "expert has: it cannot launch ahead across layers of experts."),
};
static const OrrFieldTable expert_table = ORR_FIELD_TABLE(
    "experts", "How tokens reach routed experts.", OrrExpertDispatch, expert_fields);

static const OrrField optimizer_fields[] = {
    ORR_FIELD_WORD(OrrOptimizer, "kind", kind, optimizer_words, "adam", "The optimizer: Adam."),
    ORR_FIELD_WORD(
        OrrOptimizer, "master", master, master_words, "fp32",
        "The weights that Adam updates. fp32: master weights in fp32; the weights are copies of "
        "them; weights: the weights themselves in their own format, as PyTorch does where the "
        "model is in bf16 (torchtitan's training.dtype: bfloat16, NeMo AutoModel)."),
    ORR_FIELD_WORD(
        OrrOptimizer, "moments", moments, moments_words, "fp32",
        "The format of Adam's two moments (Megatron's exp-avg-dtype and exp-avg-sq-dtype; "
        "DeepSeek-V3: bf16)."),
    ORR_FIELD_CHOICE(
        OrrOptimizer, "sharding", sharding, &orr_sharding_registry, "none",
        "State that replicas shard: nothing, the optimizer's state, gradients, weights."),
};
static const OrrFieldTable optimizer_table =
    ORR_FIELD_TABLE("optimizer", "The optimizer and its sharding.", OrrOptimizer, optimizer_fields);

static const OrrField data_parallel_fields[] = {
    ORR_FIELD_BOOL(
        OrrDataParallel, "overlap", overlap, "true",
        "Reduce gradients bucket by bucket during the last backward (ZeRO-2, ZeRO-3, FSDP: during "
        "every one); false: wait for each reduction, whatever the sharding."),
    ORR_POSITIVE_REAL(OrrDataParallel, "bucket", bucket_bytes, ORR_UNIT_BYTES, "25 MiB",
                      "Bytes of gradients that are reduced together when reduction overlaps, for "
                      "sharding none; the other shardings have buckets of their own "
                      "(optimizer.sharding)."),
    ORR_FIELD_WORD(
        OrrDataParallel, "gradients", gradients, gradient_words, "fp32",
        "The format in which gradients are kept and reduced: fp32, or the same as the weights."),
};
static const OrrFieldTable data_parallel_table = ORR_FIELD_TABLE(
    "data-parallel", "How replicas reduce gradients.", OrrDataParallel, data_parallel_fields);

static const OrrField wide_fields[] = {
    ORR_FIELD_INT(OrrWideLayers, "first", first, "0", "Layers from the first one on.", .min = 0,
                  .max = 1e5),
    ORR_FIELD_INT(OrrWideLayers, "last", last, "0", "Layers up to the last one.", .min = 0,
                  .max = 1e5),
    ORR_FIELD_BOOL(OrrWideLayers, "mtp", mtp, "false", "The layers of multi-token prediction."),
};
static const OrrFieldTable wide_table = ORR_FIELD_TABLE(
    "wide-layers", "Layers that a narrow precision leaves out.", OrrWideLayers, wide_fields);

static const OrrField products_fields[] = {
    ORR_COLUMN_TEXT(OrrProducts, "release", release,
                    "Release of the library, such as cublas-11.4: rows of the profile that name it "
                    "answer first. Absent: any."),
    ORR_FIELD_REAL(OrrProducts, "rate", rate, ORR_UNIT_FRACTION, "100 %",
                   "Rate of its products as a fraction of the rows', where no row is of the "
                   "release.",
                   .min = 0.5, .max = 1.5),
};
static const OrrFieldTable products_table =
    ORR_FIELD_TABLE("products", "The library of matrix products.", OrrProducts, products_fields);

static const OrrField training_fields[] = {
    ORR_WORKLOAD_STACK_FIELD(OrrTraining),
    SECTION("parallel", parallel, parallel_table, "{}", "How the model is split over GPUs."),
    ORR_FIELD_CHOICE(OrrTraining, "pipeline", pipeline, &orr_pipeline_registry, "1f1b",
                     "The pipeline schedule."),
    SECTION("pipeline-comm", pipeline_comm, comm_table, "{}",
            "How stages send activations to each other."),
    SECTION("pipeline-split", split, split_table, "{}",
            "How layers are cut into stages; by default, evenly."),
    SECTION("experts", experts, expert_table, "{}", "How tokens reach routed experts."),
    SECTION("batch", batch, batch_table, NULL, "Batch sizes in sequences."),
    ORR_FIELD_INT(OrrTraining, "sequence", sequence, "0",
                  "Tokens per sequence; 0: the model's context.", .min = 0, .max = 1e8),
    SECTION("packing", packing, orr_training_packing_table, "{}",
            "Documents that share a sequence; none attends to another."),
    ORR_FIELD_BOOL(
        OrrTraining, "evaluation", evaluation, "false",
        "Run only forwards: no backward, gradients or optimizer, and no memory for them."),
    ORR_FIELD_WORD(
        OrrTraining, "precision", precision, orr_precision_words, "bf16",
        "The recipe: the format of weights and activations, and of linear layers' products where "
        "that is narrower. fp8 is fp8-current. Master weights and Adam's moments are as in "
        "optimizer.master and optimizer.moments."),
    SECTION("wide-layers", wide, wide_table, "{}",
            "Layers whose products stay in the format of weights and activations under a narrower "
            "precision (Megatron's first-last-layers-bf16; NVFP4 recipes)."),
    ORR_FIELD_BOOL(
        OrrTraining, "fp8-activation-input", fp8_activation_input, "false",
        "Keep the inputs of gated and other activation functions in fp8 for the backward "
        "(Megatron's activation-func-fp8-input-store; DeepSeek-V3)."),
    ORR_FIELD_WORD(
        OrrTraining, "attention", attention, orr_attention_words, "fused",
        "The attention kernel: fused (the fastest one measured), flash-2 (FlashAttention-2, as in "
        "PyTorch), flash-triton (FlashAttention in Triton, 2022-23), flash-1 (the first "
        "FlashAttention, 2022), or unfused, as Megatron ran "
        "it in 2021-22."),
    ORR_FIELD_WORD(
        OrrTraining, "loss", loss, orr_loss_words, "megatron",
        "The cross entropy: megatron (in place on fp32 logits), torch (PyTorch's on fp32 logits, "
        "three copies at the peak), torch-narrow (PyTorch's on the logits in their own format: "
        "NeMo "
        "AutoModel's fp32_upcast: false), fused (compiled or one kernel: reads the logits in their "
        "own "
        "format), chunked (with the output layer, in chunks of tokens: Liger), or cut (with the "
        "output layer, by tiles: cut cross entropy)."),
    ORR_FIELD_WORD(OrrTraining, "layers", layers, orr_layers_words, "megatron",
                   "The framework whose modules make up the layers: megatron (one product for "
                   "queries, keys and values, one for gate and up), or torch (torchtitan's, "
                   "compiled: a product for each, copies around collectives, complex rotary "
                   "embeddings, repeated keys and values, torchao's casts)."),
    ORR_FIELD_BOOL(
        OrrTraining, "compile", compile, "true",
        "Norms, gates and torch layers' casts are fused kernels (torch.compile, Transformer "
        "Engine, apex); false: each of their operators is a kernel of PyTorch's, also "
        "those that merge the results of gathered-ring."),
    ORR_FIELD_WORD(
        OrrTraining, "rope", rope, glue_words, "fused",
        "The rotary embedding: fused, one kernel; apart, PyTorch's operators, as Megatron-"
        "Core falls back to where queries and keys are scaled too (YaRN of gpt-oss)."),
    ORR_FIELD_WORD(
        OrrTraining, "kernels", kernels, orr_kernels_words, "modern",
        "The generation of software: modern, or the PyTorch eager, TorchScript and apex kernels "
        "of 2021-22."),
    ORR_FIELD_SECTION(OrrTraining, "products", products, &products_table, "{}",
                      "The library of matrix products, where it is not the one of the profile's "
                      "rows."),
    ORR_NCCL_FIELD(OrrTraining),
    ORR_FIELD_WORD(
        OrrTraining, "launches", launches, launches_words, "ahead",
        "How the host launches kernels: ahead of the GPU; blocking, each after the end of the one "
        "before (CUDA_LAUNCH_BLOCKING=1); as graphs, one launch for a run of kernels (CUDA "
        "graphs); or as graphs-but-experts, since routing decides the experts' sizes (Megatron's "
        "cuda-graph-modules)."),
    ORR_POSITIVE_REAL(OrrTraining, "host-operators", host_operators, ORR_UNIT_NONE, "1",
                      "How many operators the framework's host dispatches for each one that is "
                      "modelled: views, allocations, autograd's nodes."),
    ORR_FIELD_BOOL(OrrTraining, "dropout", dropout, "false", "Whether dropout kernels run."),
    ORR_FIELD_WORD(
        OrrTraining, "recompute", recompute, orr_recompute_words, "none",
        "Recomputation in the backward: none; selective, modules (by default the attention core); "
        "full, whole layers; operators, all but the results of attention, every second product and "
        "reduce-scatters (torchtitan's selective op)."),
    ORR_FIELD_TEXTS(
        OrrTraining, "recompute-modules", recompute_modules, "[core-attn]",
        "Modules that selective recomputation replays: core-attn, layernorm, mla-up-proj, mlp, "
        "moe, moe-act, shared-experts (Megatron's recompute-modules); fc1, a feed-forward without "
        "its second product, and projection, attention's last product, as XLA replays them."),
    ORR_FIELD_WORD(
        OrrTraining, "recompute-method", recompute_method, method_words, "uniform",
        "For full recomputation: uniform, all layers, from the input of every "
        "recompute-layers-th; block, only the first recompute-layers of each stage's chunk."),
    ORR_FIELD_INT(OrrTraining, "recompute-layers", recompute_layers, "1",
                  "How many layers are recomputed from one input (uniform), or how many layers of "
                  "each chunk are recomputed (block); Megatron's recompute-num-layers.",
                  .min = 0, .max = 1e5),
    SECTION("lora", lora, orr_lora_table, "{}",
            "Low-rank adapters on frozen weights (LoRA, QLoRA)."),
    ORR_FIELD_BOOL(OrrTraining, "frozen-encoder", frozen_encoder, "false",
                   "Whether the layers of the model's encoder are not trained: they have no "
                   "backward, no gradients and no optimizer states. Its projector is trained."),
    ORR_FIELD_BOOL(OrrTraining, "reference-forward", reference, "false",
                   "Whether a frozen copy of the model computes each micro-batch before the model "
                   "does, as DPO's reference model: one more forward, and the copy's weights, "
                   "sharded as the model's. With LoRA the copy is the model without its adapters, "
                   "and takes no memory."),
    SECTION("optimizer", optimizer, optimizer_table, "{}", "The optimizer and its sharding."),
    SECTION("offload", offload, orr_training_offload_table, "{}",
            "Data that the job keeps in its hosts' memory."),
    SECTION("data-parallel", data_parallel, data_parallel_table, "{}",
            "How replicas reduce gradients."),
    ORR_FIELD_TEXT(
        OrrTraining, "collectives", collectives, "auto",
        "Algorithm of every collective that it supports (see `orrery list "
        "collectives`); auto: the fastest for each, on GPUs of NCCL's own, on a torus of "
        "TPUs also of its rings (bucket, torus-ring)."),
    ORR_FIELD_REAL(OrrTraining, "run-tokens", run_tokens, ORR_UNIT_NONE, NULL,
                   "Tokens of the whole training run, e.g. 300e9; the simulated steps are a "
                   "sample of it: for run_days and cost_per_run; absent: neither is computed.",
                   .flags = ORR_FIELD_OPTIONAL | ORR_FIELD_POSITIVE),
    ORR_FIELD_INT(OrrTraining, "steps", steps, "1",
                  "Optimizer steps to simulate; the iteration time is their mean.", .min = 1,
                  .max = 1e6),
    SECTION("memory", memory, orr_training_overhead_table, "{}",
            "GPU memory that libraries take for themselves; 0: do not count it."),
    SECTION("checkpoint", checkpoint, checkpoint_table, "{}",
            "Checkpoints on the cluster's storage."),
    ORR_UNSIGNED_REAL(
        OrrTraining, "data-bytes", data_bytes, ORR_UNIT_BYTES, "0 B",
        "Bytes of one sequence (or image) on the cluster's storage, read a step ahead; "
        "0: not modelled."),
    SECTION("loader", loader, orr_training_loader_table, "{}",
            "Data that the hosts prepare during training."),
    SECTION("noise", noise, orr_training_noise_table, "{}",
            "Stragglers: kernels and GPUs that do not all take the same time, seeded by the "
            "scenario's seed."),
};
const OrrFieldTable orr_training_table =
    ORR_FIELD_TABLE("training", "A training job: parallelism, schedule, batch, precision.",
                    OrrTraining, training_fields);

static void work_free(OrrWork *work) {
  OrrTrainingWork *training = (OrrTrainingWork *)work;
  GArray *const arrays[] = {training->operators,  training->collectives,  training->memory,
                            training->moments,    training->activations,  training->moment_ops,
                            training->lane_stage, training->lane_replica, training->row_of_path};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    if (arrays[i]) g_array_unref(arrays[i]);
  g_free(training);
}

const OrrWorkloadKind orr_training_kind = {
    .entry = {"training",
              "A training step of a transformer under data, tensor and pipeline parallelism.",
              &orr_training_table},
    .default_family = "megatron-core",
    .check = orr_training_check,
    .compile = orr_training_compile,
    .footprint = orr_training_memory_footprint,
    .outline = orr_training_compile_outline,
    .work_free = work_free,
};
