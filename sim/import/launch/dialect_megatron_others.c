/*
 * dialect_megatron_others.c - the arguments of Megatron-LM that give no line of a scenario: those
 * that change neither time nor memory, and those that are not simulated.
 */
#include "sim/import/launch/dialect_megatron.h"

#define IRRELEVANT(why_) .verdict = ORR_LAUNCH_IRRELEVANT, .why = why_
#define SKIPPED(why_) .verdict = ORR_LAUNCH_NOT_SIMULATED, .why = why_
#define STACK(what_) IRRELEVANT(what_ ": the stack says so")
#define NUMERICS IRRELEVANT("numbers that change what is computed, not how long")
#define DATA IRRELEVANT("data and tokens: their content does not change the time of a step")
#define LOGS IRRELEVANT("logging and profiling")
#define SAVES IRRELEVANT("checkpoints lie between steps; workload.checkpoint simulates them")
#define ODDS IRRELEVANT("how long the run is, and what lies between its steps")
#define HOST IRRELEVANT("work of the host beside the step")
#define SMALL IRRELEVANT("less than a per mille of a step")
#define WHERE IRRELEVANT("how the processes find each other")
#define UNUSED IRRELEVANT("not used by a decoder's pre-training")

const OrrLaunchRule orr_dialect_megatron_others[ORR_DIALECT_MEGATRON_OTHERS] = {
    {.keys = "megatron-fsdp-grad-comm-dtype megatron-fsdp-main-grads-dtype "
             "megatron-fsdp-main-params-dtype",
     SKIPPED("formats of Megatron-FSDP's buffers")},
    {.keys = "mtp-loss-scaling-factor", NUMERICS},
    {.keys = "embed-layernorm", SKIPPED("a norm behind the embedding"), .arity = ORR_LAUNCH_FLAG},
    {.keys = "abort-on-unmet-fused-kernel-constraints", SMALL, .arity = ORR_LAUNCH_FLAG},
    {.keys = "kill-switch-path universal-checkpoint", ODDS},
    {.keys = "pp-partition-method", SKIPPED("how DeepSpeed cuts layers into stages")},
    {.keys = "tokenizer-name-or-path train-weighted-split-paths* valid-weighted-split-paths* "
             "test-weighted-split-paths* valid-num-workers",
     DATA,
     .arity = ORR_LAUNCH_MANY},
    /* --- batch, sequence --- */
    {.keys = "rampup-batch-size",
     SKIPPED("batches that grow: the last size is simulated"),
     .arity = ORR_LAUNCH_MANY},
    {.keys = "decrease-batch-size-if-needed", ODDS, .arity = ORR_LAUNCH_FLAG},
    {.keys = "encoder-seq-length decoder-seq-length retriever-seq-length",
     SKIPPED("models other than decoders")},
    /* --- model --- */
    {.keys = "hybrid-override-pattern",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "hybrid-attention-ratio",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "hybrid-mlp-ratio",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "hybrid-layer-pattern",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "mamba-*",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "heterogeneous-layers-config-*",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "window-size",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "window-attn-skip-freq",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "linear-attention-*",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "experimental-attention-variant",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "num-layers-to-build",
     SKIPPED("layers of this kind from a launch line: write a model document and add --model")},
    {.keys = "is-hybrid-model disable-mamba-mem-eff-path",
     SKIPPED("layers of this kind from a launch line"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "tokenizer-model tokenizer-metadata tiktoken-* vocab-file merge-file vocab-extra-ids "
             "legacy-tokenizer trust-remote-code sft-tokenizer-prompt-format",
     DATA},
    {.keys = "rotary-base", NUMERICS},
    {.keys = "rotary-percent", NUMERICS},
    {.keys = "rotary-seq-len-interpolation-factor", NUMERICS},
    {.keys = "rope-scaling-factor", NUMERICS},
    {.keys = "rope-type", NUMERICS},
    {.keys = "rotary-scaling-factor", NUMERICS},
    {.keys = "mscale", NUMERICS},
    {.keys = "mscale-all-dim", NUMERICS},
    {.keys = "mrope-section", NUMERICS, .arity = ORR_LAUNCH_MANY},
    {.keys = "no-rope-freq", NUMERICS},
    {.keys = "norm-epsilon layernorm-epsilon", NUMERICS},
    {.keys = "activation-func-clamp-value", NUMERICS},
    {.keys = "glu-linear-offset", NUMERICS},
    {.keys = "softmax-type", NUMERICS},
    {.keys = "qk-clip*", NUMERICS},
    {.keys = "attention-output-gate", NUMERICS},
    {.keys =
         "rotary-interleaved use-rope-scaling apply-layernorm-1p openai-gelu qk-l2-norm "
         "apply-residual-connection-post-layernorm onnx-safe bert-no-binary-head cache-mla-latents",
     NUMERICS,
     .arity = ORR_LAUNCH_FLAG},
    /* --- precision --- */
    {.keys = "fp4-param-gather", SKIPPED("gathers in fp4"), .arity = ORR_LAUNCH_FLAG},
    {.keys = "fp8-margin fp8-interval fp8-amax-history-len fp8-amax-compute-algo "
             "fp8-quantizer-factory fp4-quantizer-factory",
     NUMERICS},
    {.keys = "no-fp8-wgrad",
     SKIPPED("weight gradients in 16 bits under fp8"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "first-last-layers-bf16",
     SKIPPED("layers in 16 bits under fp8"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "num-layers-at-start-in-bf16 num-layers-at-end-in-bf16",
     SKIPPED("layers in 16 bits under fp8")},
    {.keys = "keep-fp8-transpose-cache fp8-multi-head-attention fp8-dot-product-attention",
     SKIPPED("attention and caches in fp8"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "loss-scale initial-loss-scale min-loss-scale loss-scale-window hysteresis", NUMERICS},
    {.keys = "fp32-residual-connection",
     SKIPPED("a residual stream in fp32"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "apply-query-key-layer-scaling attention-softmax-in-fp32 fp16-lm-cross-entropy "
             "disable-bf16-reduced-precision-matmul reuse-grad-buf-for-mxfp8-param-ag",
     NUMERICS,
     .arity = ORR_LAUNCH_FLAG},
    /* --- recomputation, offload --- */
    {.keys = "distribute-saved-activations distribute-checkpointed-activations",
     SKIPPED("saved inputs split over the tensor-parallel group"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "use-torch-optimizer-for-cpu-offload no-pin-cpu-grads no-pin-cpu-params",
     SKIPPED("how the host updates and pins memory"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "fine-grained-activation-offloading",
     SKIPPED("offload of single modules"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "offload-modules", SKIPPED("offload of single modules"), .arity = ORR_LAUNCH_MANY},
    /* --- optimizer, data parallelism --- */
    {.keys = "ddp-num-buckets", SKIPPED("a number of buckets: give ddp-bucket-size")},
    {.keys = "main-params-dtype",
     SKIPPED("main weights in another format than fp32"),
     .neutral = "fp32"},
    {.keys = "use-precision-aware-optimizer", NUMERICS, .arity = ORR_LAUNCH_FLAG},
    {.keys = "num-distributed-optimizer-instances",
     SKIPPED("several copies of a sharded optimizer"),
     .neutral = "1"},
    {.keys = "overlap-param-gather-with-optimizer-step ddp-reduce-scatter-with-fp32-accumulation "
             "enable-full-sharding-in-hsdp fsdp-double-buffer",
     SKIPPED("this way to gather and reduce"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "outer-dp-sharding-strategy suggested-communication-unit-size",
     SKIPPED("this way to gather and reduce")},
    {.keys = "no-align-grad-reduce no-align-param-gather ddp-pad-buckets-for-high-nccl-busbw "
             "ddp-average-in-collective no-gradient-reduce-div-fusion init-model-with-meta-device",
     SMALL,
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "ddp-impl", SMALL},
    {.keys =
         "lr lr-* min-lr decoupled-lr decoupled-min-lr warmup weight-decay start-weight-decay "
         "end-weight-decay weight-decay-incr-style adam-* sgd-momentum muon-* clip-grad lion-* "
         "decoupled-weight-decay override-opt-param-scheduler use-checkpoint-opt-param-scheduler",
     NUMERICS},
    /* --- experts --- */
    {.keys = "moe-router-load-balancing-type moe-aux-loss-coeff",
     NUMERICS,
     .arity = ORR_LAUNCH_MANY},
    {.keys = "moe-router-dtype moe-router-score-function moe-router-topk-scaling-factor "
             "moe-router-bias-update-rate moe-z-loss-coeff moe-input-jitter-eps "
             "moe-token-drop-policy moe-upcycling-granularity",
     NUMERICS},
    {.keys = "moe-router-pre-softmax moe-router-enable-expert-bias moe-per-layer-logging "
             "moe-apply-probs-on-input moe-use-upcycling",
     NUMERICS,
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "moe-grouped-gemm moe-permute-fusion moe-router-fusion",
     STACK("grouped products and fused kernels of the router"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "moe-use-legacy-grouped-gemm",
     SKIPPED("the legacy grouped products"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "moe-router-padding-for-fp8 moe-router-padding-for-quantization delay-wgrad-compute "
             "moe-extended-tp moe-pad-experts-for-cuda-graph-inference",
     SKIPPED("this variant of the experts"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "moe-deepep-num-sms moe-hybridep-num-sms",
     SKIPPED("SMs that DeepEP takes from compute"),
     .neutral = "20"},
    /* --- kernels, launches --- */
    {.keys = "use-flash-attn use-flash-attn-v2 use-flash-attn-triton",
     STACK("fused attention"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "cuda-graph-warmup-steps", LOGS},
    {.keys = "transformer-impl",
     SKIPPED("layers of Megatron itself instead of Transformer Engine's"),
     .neutral = "transformer_engine"},
    {.keys = "no-masked-softmax-fusion no-bias-gelu-fusion no-bias-swiglu-fusion "
             "no-bias-dropout-fusion no-persist-layer-norm no-gradient-accumulation-fusion "
             "use-te-activation-func use-fused-weighted-squared-relu bias-swiglu-fusion",
     SKIPPED("single kernels fused or not"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "use-mcore-models use-legacy-models",
     STACK("whose layers run"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "deterministic-mode", SKIPPED("deterministic kernels"), .arity = ORR_LAUNCH_FLAG},
    {.keys = "tp-comm-overlap-cfg tp-comm-bootstrap-backend",
     SKIPPED("how each product overlaps its communication")},
    {.keys = "disable-tp-comm-* tp-comm-overlap-* tp-comm-split-*",
     SKIPPED("how each product overlaps its communication"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "use-nccl-ub nccl-ub disable-symmetric-registration use-sharp",
     SKIPPED("registered buffers and SHARP of NCCL"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "sharp-enabled-group nccl-communicator-config-path high-priority-stream-groups",
     SKIPPED("communicators' streams and SMs"),
     .arity = ORR_LAUNCH_MANY},
    {.keys = "use-ring-exchange-p2p defer-embedding-wgrad-compute "
             "overlap-p2p-communication-warmup-flush",
     SKIPPED("this order of a pipeline's work"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "wgrad-deferral-limit pipeline-model-parallel-comm-backend "
             "pipeline-model-parallel-split-rank",
     SKIPPED("this order of a pipeline's work")},
    {.keys = "empty-unused-memory-level",
     SKIPPED("memory given back in each step"),
     .neutral = "0"},
    {.keys = "manual-gc no-manual-gc-eval", HOST, .arity = ORR_LAUNCH_FLAG},
    {.keys = "manual-gc-interval train-sync-interval num-workers num-dataset-builder-threads",
     HOST},
    {.keys = "no-clone-scatter-output-in-embedding calculate-per-token-loss te-rng-tracker "
             "inference-rng-tracker no-check-for-nan-in-loss-and-grad "
             "check-for-nan-in-loss-and-grad check-for-spiky-loss check-for-large-grads",
     SMALL,
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "check-weight-hash-across-dp-replicas-interval", SMALL},
    /* --- what a step does not see --- */
    {.keys = "train-iters train-samples exit-* eval-* skip-train full-validation "
             "multiple-validation-sets iterations-to-skip train-tokens test-mode save-interval "
             "persistent-save-interval",
     ODDS},
    {.keys = "save load save-* no-save-* no-load-* load-* finetune pretrained-checkpoint ckpt-* "
             "no-ckpt-* no-initialization use-checkpoint-args use-mp-args-from-checkpoint-args "
             "no-use-tokenizer-model-from-checkpoint-args exit-on-missing-checkpoint use-dist-ckpt "
             "use-persistent-ckpt-worker auto-detect-ckpt-format dist-ckpt-* distrib-optim-* "
             "async-save non-persistent-* replication replication-* no-strict-fsdp-dtensor-load "
             "verify-*",
     SAVES},
    {.keys = "data-path train-data-path valid-data-path test-data-path tiktoken-special-tokens",
     DATA,
     .arity = ORR_LAUNCH_MANY},
    {.keys = "data-* per-split-* split no-mmap-bin-files mock-data sample-rate mask-prob "
             "short-seq-prob reset-position-ids reset-attention-mask eod-mask-loss "
             "no-create-attention-mask-in-dataloader object-storage-cache-path "
             "mid-level-dataset-surplus allow-ambiguous-pad-tokens dataloader-type dataloader-save "
             "s3-cache-path sft",
     DATA},
    {.keys = "log-* timing-log-* no-log-* tensorboard-* no-barrier-with-level-1-timing wandb-* "
             "logging-level one-logger-* no-one-logger app-tag-* profile profile-* "
             "use-pytorch-profiler pytorch-profiler-* record-memory-history memory-snapshot-path "
             "config-logger-dir result-rejected-tracker-filename straggler-* "
             "disable-straggler-on-startup run-workload-inspector-server print-*",
     LOGS},
    {.keys = "seed data-parallel-random-init init-method-* embedding-init-method-std "
             "use-cpu-initialization rerun-mode error-injection-*",
     NUMERICS},
    {.keys = "distributed-backend distributed-timeout-* disable-gloo-process-groups local-rank "
             "lazy-mpu-init adlr-autoresume* enable-ft-package calc-ft-timeouts inprocess-* "
             "disable-msc enable-gloo-process-groups",
     WHERE},
    {.keys = "enable-experimental spec yaml-cfg kitchen-*",
     SKIPPED("a module or a config of its own"),
     .arity = ORR_LAUNCH_MANY},
    {.keys = "inference-* flash-decode max-tokens-to-oom output-bert-embeddings bert-* "
             "symmetric-ar-type nccl-all-reduce-for-prefill mlp-chunks-for-prefill "
             "disable-chunked-prefill use-legacy-static-engine decode-only-cuda-graphs",
     UNUSED},
    {.keys = "retro-* biencoder-* ict-* dino-* vision-* swin-* indexer-* retriever-* "
             "titles-data-path query-in-block-prob use-one-sent-docs evidence-data-path "
             "block-data-path embedding-path num-classes img-h img-w num-channels patch-dim "
             "classes-fraction no-data-sharding head-lr-mult mask-type mask-factor iter-per-epoch",
     UNUSED},
    {.keys = "perform-rl-step",
     SKIPPED("rollouts: the update alone is simulated"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "rl-* grpo-* langrl-*", SKIPPED("rollouts: the update alone is simulated")},
    /* --- Megatron-DeepSpeed --- */
    {.keys =
         "deepspeed deepspeed-activation-checkpointing checkpoint-in-cpu contigious-checkpointing "
         "synchronize-each-layer partition-activations profile-backward",
     STACK("DeepSpeed"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "no-query-key-layer-scaling random-ltd use-tutel use-pin-memory "
             "create-moe-param-group load-tag repeated-dataloader no-load-lr-state "
             "override-lr-scheduler use-flash-attn-builder "
             "zero-contigious-gradients disable-mem-efficient-ln cpu-optimizer cpu-torch-adam "
             "return-data-index use-dataset-only normalization-eps no-pipeline-parallel",
     STACK("Megatron-DeepSpeed's own switches"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "curriculum-learning-* random-ltd-* lr-warmup-tokens lr-decay-tokens tile-factor "
             "train-data-exact-num-epochs data-efficiency-* attention-head-type expert-interval "
             "mlp-type remote-device",
     ODDS},
    {.keys = "ds-sequence-parallel-size",
     SKIPPED("Ulysses: sequences split over GPUs; see workload.parallel.cp"),
     .neutral = "1"},
    /* --- Pai-Megatron-Patch, ROCm's fork --- */
    {.keys = "max-padding-length extra-vocab-size patch-tokenizer-type train-mode dataset "
             "train-data source-seq-len target-seq-len text-generate-*",
     DATA},
    {.keys = "use-multi-token-prediction",
     IRRELEVANT("num-mtp-predictor says how many layers"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "disable-te-fused-rope use-fused-rmsnorm use-fused-swiglu "
             "use-fused-rotary-pos-emb use-mc2 reuse-fp32-param no-shared-storage",
     STACK("fused kernels"),
     .arity = ORR_LAUNCH_FLAG},
    {.keys = "deepspeed-config",
     .verdict = ORR_LAUNCH_IRRELEVANT,
     .why = "its keys are accounted for themselves"},
};
