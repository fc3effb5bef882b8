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
#include "workloads/training/memory/training_handover.h"
#include "workloads/training/memory/training_memory.h"
#include "workloads/training/memory/training_overhead.h"
#include "workloads/training/training_check.h"
#include "workloads/training/training_compile.h"

static const char *const optimizer_words[] = {"adam", NULL};
static const char *const moments_words[] = {"fp32", "bf16", NULL};
static const char *const gradient_words[] = {"fp32", "same", NULL};
static const char *const dispatch_words[] = {"flat", "deepep", "hierarchical", NULL};
static const char *const launches_words[] = {"ahead", "blocking", "graphs", "graphs-but-experts",
                                             NULL};
static const char *const method_words[] = {"uniform", "block", NULL};

/* Products of three sizes stay within 64 bits. */
#define SIZE(name_, member_, least_, sentence_, fallback_)                                         \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_INT, .offset = offsetof(OrrParallel, member_),                \
    .sentence = sentence_, .fallback = fallback_, .min = least_, .max = 1e6                        \
  }
#define FLAG(type_, name_, member_, sentence_, fallback_)                                          \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_BOOL, .offset = offsetof(type_, member_),                     \
    .sentence = sentence_, .fallback = fallback_                                                   \
  }
#define WORD(type_, name_, member_, words_, sentence_, fallback_)                                  \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_WORD, .offset = offsetof(type_, member_),                     \
    .sentence = sentence_, .fallback = fallback_, .words = words_                                  \
  }
#define PART(name_, member_, table_, sentence_, fallback_)                                         \
  {                                                                                                \
    .name = name_, .kind = ORR_FIELD_SECTION, .offset = offsetof(OrrTraining, member_),            \
    .sentence = sentence_, .fallback = fallback_, .table = &table_                                 \
  }

static const OrrField parallel_fields[] = {
    SIZE("tp", tp, 1, "Tensor-parallel size: GPUs that share every layer.", "1"),
    SIZE("pp", pp, 1, "Pipeline-parallel size: stages that share the layers.", "1"),
    SIZE("dp", dp, 0, "Data-parallel size: replicas of the model; 0 is as many as the GPUs hold.",
         "0"),
    SIZE("cp", cp, 1, "Context-parallel size: GPUs that share each sequence.", "1"),
    SIZE("ep", ep, 1,
         "Expert-parallel size: GPUs that share the experts; their groups may reach over replicas.",
         "1"),
    SIZE("etp", etp, 0,
         "Expert-tensor-parallel size: GPUs that share each expert; 0: as tp where the model has "
         "experts, else 1.",
         "0"),
    {.name = "context",
     .kind = ORR_FIELD_WORD,
     .offset = offsetof(OrrParallel, context),
     .sentence = "How context-parallel GPUs see all keys: p2p (ring, beside attention), all-gather "
                 "(Llama 3), "
                 "all-to-all (Ulysses), or hierarchical (all-to-all among context-inner GPUs, "
                 "rings across).",
     .fallback = "p2p",
     .words = orr_context_words},
    SIZE("context-inner", context_inner, 1,
         "Of hierarchical context parallelism, GPUs that exchange heads; rings go over cp / "
         "context-inner (Megatron's "
         "hierarchical-context-parallel-sizes are the two).",
         "1"),
    FLAG(OrrParallel, "sequence-parallel", sequence_parallel,
         "Shard norms, dropouts and residuals over the tensor-parallel group by sequence.",
         "false"),
    FLAG(OrrParallel, "keep-gathered", keep_gathered,
         "Under sequence parallelism keep gathered inputs for the backward, as PyTorch's DTensor "
         "does, where Megatron "
         "gathers them again.",
         "false"),
    FLAG(OrrParallel, "async-tp-all-reduce", async_tp_all_reduce,
         "Run the backward's tensor-parallel collectives beside the weight-gradient GEMM that "
         "follows them.",
         "true"),
    {.name = "tp-comm-overlap",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrParallel, tp_comm_overlap),
     .sentence = "Gathers and scatters in pieces beside the products that they belong to.",
     .fallback = "none",
     .registry = &orr_tp_overlap_registry},
    {.name = "order",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrParallel, order),
     .sentence = "Axes of the rank grid, fastest-varying first; rank r runs on GPU r. ep may stand "
                 "before dp (the default: ranks "
                 "of different experts next to each other) or after it.",
     .fallback = "tp-cp-dp-pp"},
};
static const OrrFieldTable parallel_table =
    ORR_FIELD_TABLE("parallel", "How the model is split over GPUs.", OrrParallel, parallel_fields);

static const char *const checkpoint_words[] = {"sync", "async", NULL};
static const OrrField checkpoint_fields[] = {
    {.name = "every",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrCheckpoint, every),
     .sentence = "Steps from one checkpoint to the next; 0: never.",
     .fallback = "0",
     .min = 0,
     .max = 1e9},
    WORD(OrrCheckpoint, "mode", mode, checkpoint_words,
         "sync: training waits for the write; async: for a copy in the host's memory, which is "
         "written meanwhile.",
         "sync"),
    FLAG(OrrCheckpoint, "sharded", sharded,
         "All ranks write, each a part; else the first replica writes and the others wait.",
         "true"),
    FLAG(OrrCheckpoint, "load", load, "Training begins with reading one.", "false"),
};
static const OrrFieldTable checkpoint_table = ORR_FIELD_TABLE(
    "checkpoint", "When the state is saved, and how.", OrrCheckpoint, checkpoint_fields);

static const OrrField batch_fields[] = {
    {.name = "global",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrBatch, global_size),
     .sentence = "Sequences in one optimizer step, over all replicas.",
     .min = 1,
     .max = 1e9},
    {.name = "micro",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrBatch, micro),
     .sentence = "Sequences in one micro-batch of one replica.",
     .fallback = "1",
     .min = 1,
     .max = 1e9},
};
static const OrrFieldTable batch_table =
    ORR_FIELD_TABLE("batch", "Batch sizes in sequences.", OrrBatch, batch_fields);

static const OrrField comm_fields[] = {
    FLAG(OrrPipelineComm, "overlap-p2p", overlap_p2p,
         "Let sends between stages run beside the compute that follows (Megatron's "
         "overlap_p2p_comm).",
         "false"),
    FLAG(OrrPipelineComm, "scatter-gather", scatter_gather,
         "Each tp rank sends 1/tp of the boundary tensor, which is gathered over NVLink (SC21, "
         "section 4.1).",
         "true"),
    WORD(OrrPipelineComm, "runtime", runtime, orr_training_handover_words,
         "What a stage holds of tensors on their way: megatron one each way; torch "
         "(torch.distributed.pipelining) those "
         "of all micro-batches until the step ends; auto: torch under fsdp and hsdp.",
         "auto"),
};
static const OrrFieldTable comm_table = ORR_FIELD_TABLE(
    "pipeline-comm", "How stages hand over activations.", OrrPipelineComm, comm_fields);

static const OrrField split_fields[] = {
    FLAG(OrrPipelineSplit, "count-embedding", count_embedding,
         "Count the embedding as one layer of the first stage (Megatron's "
         "account-for-embedding-in-pipeline-split).",
         "false"),
    FLAG(OrrPipelineSplit, "count-loss", count_loss,
         "Count the output layer and loss as one layer of the last stage "
         "(account-for-loss-in-pipeline-split).",
         "false"),
    FLAG(OrrPipelineSplit, "count-where-needed", count_where_needed,
         "Count embedding and loss where layers alone cannot be divided and with them can (NeMo's "
         "recipes).",
         "false"),
    FLAG(OrrPipelineSplit, "fill", fill,
         "Layers that cannot be divided: every block takes the quotient rounded up and the last "
         "one the rest, as "
         "DeepSpeed's pipelines do.",
         "false"),
    {.name = "first",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrPipelineSplit, first),
     .sentence =
         "Layers of the first stage (decoder-first-pipeline-num-layers); 0: as many as the others.",
     .fallback = "0",
     .min = 0,
     .max = 1e5},
    {.name = "last",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrPipelineSplit, last),
     .sentence =
         "Layers of the last stage (decoder-last-pipeline-num-layers); 0: as many as the others.",
     .fallback = "0",
     .min = 0,
     .max = 1e5},
    {.name = "layout",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrPipelineSplit, layout),
     .sentence = "Blocks in the order of the model, as Megatron's pipeline-model-parallel-layout: "
                 "E embedding, t layer, "
                 "L loss, | ends a block, x*n and (xy)*n repeat; none.",
     .fallback = "none"},
};
static const OrrFieldTable split_table = ORR_FIELD_TABLE(
    "pipeline-split", "How layers are cut into stages; evenly where it says nothing.",
    OrrPipelineSplit, split_fields);

static const OrrField expert_fields[] = {
    {.name = "capacity",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrExpertDispatch, capacity),
     .sentence = "Tokens that an expert takes at most, as a multiple of its balanced share; more "
                 "are dropped "
                 "(moe-expert-capacity-factor). 0: as many as come.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED,
     .unit = ORR_UNIT_NONE},
    FLAG(OrrExpertDispatch, "pad-to-capacity", pads,
         "Fill up every expert to the capacity, so that all shapes are equal "
         "(moe-pad-expert-input-to-capacity; GShard).",
         "false"),
    {.name = "imbalance",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrExpertDispatch, imbalance),
     .sentence = "Exponent of the power law that tokens follow over experts, as aiconfigurator "
                 "measured kernels under it; 0: "
                 "as load says.",
     .fallback = "0",
     .flags = ORR_FIELD_UNSIGNED,
     .unit = ORR_UNIT_NONE},
    {.name = "load",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrExpertDispatch, load),
     .sentence = "How tokens spread over experts; which of them share a rank is drawn from the "
                 "scenario's seed.",
     .fallback = "balanced",
     .registry = &orr_expert_load_registry},
    FLAG(OrrExpertDispatch, "shared-expert-overlap", shared_expert_overlap,
         "Run shared experts beside the dispatch (Megatron's moe-shared-expert-overlap).", "false"),
    WORD(OrrExpertDispatch, "dispatch", dispatch, dispatch_words,
         "How tokens reach their experts: flat (NCCL's all-to-all, a copy for each expert), "
         "hierarchical (the same in two "
         "steps, inside nodes and across them), or deepep (a copy for each node, and there for "
         "each rank).",
         "flat"),
    {.name = "nodes",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrExpertDispatch, nodes),
     .sentence = "Nodes that a token's experts lie on at most (DeepSeek-V3: 4), which deepep makes "
                 "use of; 0: any.",
     .fallback = "0",
     .min = 0,
     .max = 1e6},
};
static const OrrFieldTable expert_table = ORR_FIELD_TABLE(
    "experts", "What routed experts get of tokens.", OrrExpertDispatch, expert_fields);

static const OrrField optimizer_fields[] = {
    WORD(OrrOptimizer, "kind", kind, optimizer_words,
         "The optimizer: Adam with fp32 master weights.", "adam"),
    WORD(OrrOptimizer, "moments", moments, moments_words,
         "The format Adam's two moments are kept in (Megatron's exp-avg-dtype and "
         "exp-avg-sq-dtype; DeepSeek-V3: bf16).",
         "fp32"),
    {.name = "sharding",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrOptimizer, sharding),
     .sentence = "What replicas share out of one model: nothing, the optimizer's state, gradients, "
                 "weights.",
     .fallback = "none",
     .registry = &orr_sharding_registry},
};
static const OrrFieldTable optimizer_table =
    ORR_FIELD_TABLE("optimizer", "The optimizer and its sharding.", OrrOptimizer, optimizer_fields);

static const OrrField data_parallel_fields[] = {
    FLAG(OrrDataParallel, "overlap", overlap,
         "Reduce gradients bucket by bucket beside the last backward (ZeRO-2, ZeRO-3, FSDP: beside "
         "every one); false: each "
         "waits for its reduction, whatever the sharding.",
         "true"),
    {.name = "bucket",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrDataParallel, bucket_bytes),
     .sentence = "Gradient bytes that are reduced together when reduction overlaps, of sharding "
                 "none; the others have "
                 "buckets of their own (optimizer.sharding).",
     .fallback = "25 MiB",
     .flags = ORR_FIELD_POSITIVE,
     .unit = ORR_UNIT_BYTES},
    WORD(OrrDataParallel, "gradients", gradients, gradient_words,
         "The format gradients are kept and reduced in: fp32, or the same as the weights.", "fp32"),
};
static const OrrFieldTable data_parallel_table = ORR_FIELD_TABLE(
    "data-parallel", "How replicas reduce gradients.", OrrDataParallel, data_parallel_fields);

static const OrrField training_fields[] = {
    PART("parallel", parallel, parallel_table, "How the model is split over GPUs.", "{}"),
    {.name = "pipeline",
     .kind = ORR_FIELD_CHOICE,
     .offset = offsetof(OrrTraining, pipeline),
     .sentence = "The pipeline schedule.",
     .fallback = "1f1b",
     .registry = &orr_pipeline_registry},
    PART("pipeline-comm", pipeline_comm, comm_table, "How stages hand over activations.", "{}"),
    PART("pipeline-split", split, split_table,
         "How layers are cut into stages; evenly where it says nothing.", "{}"),
    PART("experts", experts, expert_table, "What routed experts get of tokens.", "{}"),
    PART("batch", batch, batch_table, "Batch sizes in sequences.", NULL),
    {.name = "sequence",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrTraining, sequence),
     .sentence = "Tokens a sequence; 0 is the model's context.",
     .fallback = "0",
     .min = 0,
     .max = 1e8},
    PART("packing", packing, orr_training_packing_table,
         "Documents that share a sequence and do not see each other.", "{}"),
    FLAG(OrrTraining, "evaluation", evaluation,
         "Forwards alone: no backward, gradients, optimizer, and nothing kept for them.", "false"),
    WORD(OrrTraining, "precision", precision, orr_precision_words,
         "The recipe: the format of weights and activations, and of linear layers' products where "
         "they are narrower. "
         "fp8 is fp8-current. Master weights are fp32, and Adam's moments as optimizer.moments "
         "says.",
         "bf16"),
    FLAG(OrrTraining, "fp8-activation-input", fp8_activation_input,
         "Keep the inputs of gated and other activation functions in fp8 for the backward "
         "(Megatron's "
         "activation-func-fp8-input-store; DeepSeek-V3).",
         "false"),
    WORD(OrrTraining, "attention", attention, orr_attention_words,
         "The attention kernel: fused (the fastest that was measured), flash-2 (FlashAttention-2, "
         "as PyTorch has it), "
         "flash-triton (FlashAttention in Triton, 2022-23), or unfused as Megatron ran it in "
         "2021-22.",
         "fused"),
    WORD(OrrTraining, "loss", loss, orr_loss_words,
         "The cross entropy: megatron (in place on logits in fp32), torch (PyTorch's on logits in "
         "fp32, three of them "
         "at "
         "the peak), or fused (compiled or one kernel: reads the logits as they are).",
         "megatron"),
    WORD(OrrTraining, "kernels", kernels, orr_kernels_words,
         "The generation of software: modern, or the PyTorch eager, TorchScript and apex kernels "
         "of 2021-22, with NCCL "
         "before 2.12.",
         "modern"),
    WORD(
        OrrTraining, "launches", launches, launches_words,
        "How the host launches kernels: ahead of the GPU; blocking, each after the end of the one "
        "before "
        "(CUDA_LAUNCH_BLOCKING=1); as graphs, one launch for a run of kernels (CUDA graphs); or as "
        "graphs-but-experts, whose sizes routing decides (Megatron's cuda-graph-modules).",
        "ahead"),
    FLAG(OrrTraining, "dropout", dropout, "Whether dropout kernels run.", "false"),
    WORD(OrrTraining, "recompute", recompute, orr_recompute_words,
         "Activations recomputed in the backward: none, modules (selective: the attention core), "
         "whole layers (full), "
         "or all but the results of attention, every second product and reduce-scatters "
         "(operators: torchtitan's "
         "selective op).",
         "none"),
    {.name = "recompute-modules",
     .kind = ORR_FIELD_TEXTS,
     .offset = offsetof(OrrTraining, recompute_modules),
     .sentence = "What selective recomputation replays: core-attn, layernorm, mla-up-proj, mlp, "
                 "moe, moe-act, "
                 "shared-experts (Megatron's recompute-modules).",
     .fallback = "[core-attn]"},
    WORD(OrrTraining, "recompute-method", recompute_method, method_words,
         "Of full recomputation: uniform, all layers from the input of every recompute-layers-th; "
         "block, only the first "
         "recompute-layers of each stage's chunk.",
         "uniform"),
    {.name = "recompute-layers",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrTraining, recompute_layers),
     .sentence = "Layers a unit of recomputation (uniform), or layers of each chunk that are "
                 "recomputed (block); "
                 "Megatron's recompute-num-layers.",
     .fallback = "1",
     .min = 0,
     .max = 1e5},
    PART("lora", lora, orr_lora_table, "Low-rank adapters on frozen weights (LoRA, QLoRA).", "{}"),
    PART("optimizer", optimizer, optimizer_table, "The optimizer and its sharding.", "{}"),
    PART("offload", offload, orr_training_offload_table, "What is kept in the memory of the hosts.",
         "{}"),
    PART("data-parallel", data_parallel, data_parallel_table, "How replicas reduce gradients.",
         "{}"),
    {.name = "collectives",
     .kind = ORR_FIELD_TEXT,
     .offset = offsetof(OrrTraining, collectives),
     .sentence = "Algorithm of every collective that it supports (see `orrery list collectives`); "
                 "auto: the fastest for each.",
     .fallback = "auto"},
    {.name = "steps",
     .kind = ORR_FIELD_INT,
     .offset = offsetof(OrrTraining, steps),
     .sentence = "Optimizer steps to simulate; the iteration time is their mean.",
     .fallback = "1",
     .min = 1,
     .max = 1e6},
    PART("memory", memory, orr_training_overhead_table,
         "What libraries take of a GPU's memory for themselves; 0 where it is not to be counted.",
         "{}"),
    PART("checkpoint", checkpoint, checkpoint_table, "Checkpoints on the cluster's storage.", "{}"),
    {.name = "data-bytes",
     .kind = ORR_FIELD_REAL,
     .offset = offsetof(OrrTraining, data_bytes),
     .unit = ORR_UNIT_BYTES,
     .fallback = "0 B",
     .flags = ORR_FIELD_UNSIGNED,
     .sentence = "What one sequence (or image) is on the cluster's storage, read a step ahead; 0: "
                 "not modelled."},
    PART("loader", loader, orr_training_loader_table, "Data that hosts prepare beside training.",
         "{}"),
    PART("noise", noise, orr_training_noise_table,
         "Stragglers: kernels and GPUs that do not all take the same time, seeded by the "
         "scenario's seed.",
         "{}"),
};
const OrrFieldTable orr_training_table =
    ORR_FIELD_TABLE("training", "A training job: parallelism, schedule, batch, precision.",
                    OrrTraining, training_fields);

static void work_free(OrrWork *work) {
  OrrTrainingWork *training = (OrrTrainingWork *)work;
  GArray *const arrays[] = {training->operators,  training->collectives, training->memory,
                            training->moments,    training->activations, training->moment_ops,
                            training->lane_stage, training->lane_replica};
  for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
    if (arrays[i]) g_array_unref(arrays[i]);
  g_free(training);
}

const OrrWorkloadKind orr_training_kind = {
    .entry = {"training",
              "A training step of a transformer under data, tensor and pipeline parallelism.",
              &orr_training_table},
    .check = orr_training_check,
    .compile = orr_training_compile,
    .footprint = orr_training_memory_footprint,
    .work_free = work_free,
};
