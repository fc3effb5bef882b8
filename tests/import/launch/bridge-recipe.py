"""Recipes in the form of Megatron-Bridge's (NVIDIA-NeMo/Megatron-Bridge, perf_recipes)."""

from megatron.bridge.training.config import ConfigContainer

SEQUENCE: int = 8_192


def _precision(dtype: str):
    """A precision by its name."""
    if dtype == "bf16":
        cfg = bf16_mixed()
    return cfg


def _with_global_batch_size(cfg: ConfigContainer, size: int) -> ConfigContainer:
    cfg.train.global_batch_size = size
    return cfg


def _common(cfg: ConfigContainer, *, overlap: bool = True) -> None:
    cfg.dataset.seq_length = cfg.model.seq_length
    cfg.ddp.overlap_grad_reduce = overlap
    cfg.model.recompute_modules = ["core_attn", "mlp"]


def _layout(model_cfg) -> None:
    model_cfg.pipeline_model_parallel_size = 4
    model_cfg.virtual_pipeline_model_parallel_size = 8


def eight_billion_pretrain_16gpu_h100_fp8cs_config() -> ConfigContainer:
    """Eight billion on 16 GPUs."""
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("meta-llama/Meta-Llama-3-8B").to_megatron_provider(
        load_weights=False
    )
    cfg.mixed_precision = _precision("fp8_cs")
    cfg.model.seq_length = SEQUENCE  # tokens
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.sequence_parallel = True
    _layout(cfg.model)
    cfg.model.recompute_granularity = "selective"
    cfg.train.global_batch_size = 128
    cfg.train.micro_batch_size = 1
    cfg.optimizer.exp_avg_dtype = torch.float32
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False)
    _common(cfg, overlap=False)
    cfg.env_vars = {
        # a comment
        "NVTE_FWD_LAYERNORM_SM_MARGIN": 20,
    }
    return cfg


def eight_billion_pretrain_32gpu_h100_fp8cs_config() -> ConfigContainer:
    cfg = _with_global_batch_size(eight_billion_pretrain_16gpu_h100_fp8cs_config(), 256)
    return cfg
