#!/bin/bash
#SBATCH --job-name=prep
#SBATCH -p cpu -c 4
#SBATCH --mem=16G
#SBATCH --time=00:30:00
#SBATCH --output=logs/%x-%j.out
set -e
module load python
srun python prep.py
