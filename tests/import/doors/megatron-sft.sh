PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' \
NPROC_PER_NODE=4 \
megatron sft \
    --model Qwen/Qwen3-4B \
    --save_safetensors true \
    --dataset 'llm-wizard/alpaca-gpt4-data-zh' \
    --tensor_model_parallel_size 2 \
    --pipeline_model_parallel_size 2 \
    --packing True \
    --micro_batch_size 1 \
    --global_batch_size 4 \
    --recompute_granularity full \
    --recompute_method uniform \
    --recompute_num_layers 1 \
    --num_train_epochs 5 \
    --finetune true \
    --cross_entropy_loss_fusion true \
    --lr 1e-5 \
    --max_length 8192 \
    --no_save_optim true \
    --sequence_parallel true \
    --attention_backend flash
