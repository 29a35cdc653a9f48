#!/bin/sh
# CPT (STAGE=cpt) or SFT with ms-swift on Megatron: experts spread over the GPUs of a machine. The masks of the set count:
# `loss` and `loss_scale` stand on its messages. Several machines: NNODES, NODE_RANK, MASTER_ADDR, MASTER_PORT on each.
# `worldline data export ms-swift SET` puts this beside its train.jsonl; elsewhere, SET names that file. An empty thought
# is not learned.
set -eu
MODEL=${MODEL:-Qwen/Qwen3.5-35B-A3B}
SET=${SET:-$(dirname "$0")/train.jsonl}
STAGE=${STAGE:-cpt}
OUT=${OUT:-out/$STAGE}
export NPROC_PER_NODE=${NPROC_PER_NODE:-8}
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
case $STAGE in
  cpt) LEARNED="--loss_scale default+ignore_empty_think --add_non_thinking_prefix true" ;;
  sft) LEARNED="--loss_scale default+ignore_empty_think" ;;
  *) echo "STAGE is cpt or sft" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086 # LEARNED holds several words
exec megatron sft $LEARNED \
  --model "$MODEL" --dataset "$SET" --save_safetensors true \
  --tuner_type lora --lora_rank 16 --lora_alpha 32 --target_modules all-linear --merge_lora true \
  --expert_model_parallel_size "$NPROC_PER_NODE" --sequence_parallel true \
  --moe_grouped_gemm true --moe_permute_fusion true --moe_aux_loss_coeff 1e-6 \
  --enable_channel_loss true --is_binary_loss_scale false \
  --micro_batch_size 1 --global_batch_size 32 --max_length 32768 --padding_free false \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --lr 1e-4 --min_lr 1e-5 --lr_warmup_fraction 0.03 --num_train_epochs 1 \
  --save_steps 100 --eval_steps 100 --split_dataset_ratio 0.01 \
  --output_dir "$OUT"
