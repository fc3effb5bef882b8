deepspeed --module openrlhf.cli.train_dpo --pretrain meta-llama/Meta-Llama-3-8B --max_len 8192 --train_batch_size 256 \
   --micro_train_batch_size 1 --zero_stage 3 --bf16 --beta 0.1
