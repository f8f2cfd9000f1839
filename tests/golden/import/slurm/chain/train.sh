#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:a100:4
#SBATCH --mem-per-cpu=4G
#SBATCH --time=1-12:00:00
#SBATCH --requeue

torchrun --nproc-per-node 4 train.py "$@" --job $SLURM_JOB_ID --tasks ${SLURM_NTASKS}
#SBATCH --mem=1G
