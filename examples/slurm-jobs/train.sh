#!/bin/bash
#SBATCH --job-name=train
#SBATCH --gres=gpu:a100:2
#SBATCH --cpus-per-task=16
#SBATCH --mem=128G
#SBATCH --time=12:00:00
#SBATCH --array=0-1
srun torchrun --nproc-per-node 2 train.py --seed $SLURM_ARRAY_TASK_ID
