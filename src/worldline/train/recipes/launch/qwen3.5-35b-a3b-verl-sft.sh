#!/bin/sh
# CPT or SFT with verl, weights sharded by FSDP. Several machines: NNODES, NODE_RANK, MASTER_ADDR, MASTER_PORT on each.
# `worldline data export verl SET` puts this beside its train.parquet; elsewhere, SET names that folder.
set -eu
MODEL=${MODEL:-Qwen/Qwen3.5-35B-A3B}
SET=${SET:-$(dirname "$0")}
OUT=${OUT:-out/sft}
GPUS=${GPUS:-8}
NNODES=${NNODES:-1}
exec torchrun --nproc_per_node="$GPUS" --nnodes="$NNODES" --node_rank="${NODE_RANK:-0}" \
  --master_addr="${MASTER_ADDR:-127.0.0.1}" --master_port="${MASTER_PORT:-29500}" \
  -m verl.trainer.sft_trainer \
  data.train_files="$SET/train.parquet" data.messages_key=messages \
  data.train_batch_size=32 data.micro_batch_size_per_gpu=1 data.max_token_len_per_gpu=32768 data.max_length=32768 \
  data.truncation=left data.pad_mode=no_padding data.ignore_input_ids_mismatch=True \
  model.path="$MODEL" model.lora_rank=16 model.lora_alpha=32 model.enable_gradient_checkpointing=True \
  engine=fsdp optim.lr=1e-4 \
  trainer.total_epochs=1 trainer.save_freq=100 trainer.max_ckpt_to_keep=2 trainer.logger='["console"]' \
  trainer.project_name=worldline trainer.experiment_name=sft trainer.default_local_dir="$OUT" \
  trainer.nnodes="$NNODES" trainer.n_gpus_per_node="$GPUS"
