torchrun --standalone --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.micro_batch_size=8 \
    model.partial_pretrain=Qwen/Qwen2.5-7B-Instruct
