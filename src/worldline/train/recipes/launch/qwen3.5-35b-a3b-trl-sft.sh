#!/bin/sh
# CPT or SFT of a 35B mixture of experts with TRL: adapters, weights sharded over the GPUs of accelerate-fsdp.yaml.
# `worldline data export trl SET` puts this beside its train.jsonl; elsewhere, SET names that folder.
set -eu
MODEL=${MODEL:-Qwen/Qwen3.5-35B-A3B}
SET=${SET:-$(dirname "$0")}
OUT=${OUT:-out/sft}
exec trl sft \
  --accelerate_config "$(dirname "$0")/accelerate-fsdp.yaml" \
  --model_name_or_path "$MODEL" \
  --dataset_name "$SET" \
  --completion_only_loss true \
  --max_length 32768 \
  --use_peft true --lora_r 16 --lora_alpha 32 --lora_target_modules all-linear \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 4 \
  --learning_rate 1e-4 --lr_scheduler_type cosine --warmup_steps 0.03 \
  --num_train_epochs 1 --bf16 true --gradient_checkpointing true \
  --logging_steps 10 --save_steps 100 --save_total_limit 2 \
  --output_dir "$OUT"
