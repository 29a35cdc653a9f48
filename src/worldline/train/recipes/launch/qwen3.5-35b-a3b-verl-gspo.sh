#!/bin/sh
# RL by GSPO with verl on Ray. Several machines: `ray start --head` on the first, `ray start --address=HEAD:6379` on the
# others, then this on the first with NODES set.
# `worldline data export verl SET` puts this beside its train.parquet; elsewhere, PROMPTS names that folder. SET is the set
# that it was exported from: the reward reads its rows.
set -eu
MODEL=${MODEL:-out/sft}
PROMPTS=${PROMPTS:-$(dirname "$0")}
SET=${SET:-$PROMPTS/..}
NODES=${NODES:-1}
GPUS=${GPUS:-8}
export WORLDLINE_SET="$SET"
exec python3 -m verl.trainer.main_ppo \
  algorithm.adv_estimator=grpo algorithm.use_kl_in_reward=False \
  data.train_files="$PROMPTS/train.parquet" data.val_files="${HELD_OUT:-$PROMPTS/train.parquet}" \
  data.return_raw_chat=True data.train_batch_size=64 \
  data.max_prompt_length=28672 data.max_response_length=4096 \
  data.filter_overlong_prompts=True data.truncation=error \
  actor_rollout_ref.model.path="$MODEL" actor_rollout_ref.model.use_remove_padding=True \
  actor_rollout_ref.actor.policy_loss.loss_mode=gspo actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean \
  actor_rollout_ref.actor.clip_ratio_low=3e-4 actor_rollout_ref.actor.clip_ratio_high=4e-4 \
  actor_rollout_ref.actor.use_kl_loss=False actor_rollout_ref.actor.optim.lr=1e-6 \
  actor_rollout_ref.actor.ppo_mini_batch_size=32 actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.strategy=fsdp2 \
  actor_rollout_ref.actor.fsdp_config.param_offload=True \
  actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \
  actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.mode=async actor_rollout_ref.rollout.n=8 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=4 actor_rollout_ref.rollout.gpu_memory_utilization=0.7 \
  reward.custom_reward_function.path="$(dirname "$0")/verl_reward.py" reward.custom_reward_function.name=compute_score \
  trainer.n_gpus_per_node="$GPUS" trainer.nnodes="$NODES" trainer.logger='["console"]' \
  trainer.project_name=worldline trainer.experiment_name=gspo trainer.default_local_dir="${OUT:-out/rl}" \
  trainer.save_freq=20 trainer.test_freq=10 trainer.total_epochs=1
