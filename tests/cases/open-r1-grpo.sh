accelerate launch --config_file zero3.yaml --num_processes=8 src/open_r1/grpo.py --config grpo.yaml
