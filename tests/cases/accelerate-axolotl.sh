accelerate launch --num_machines 2 --num_processes 16 -m axolotl.cli.train axo.yaml
