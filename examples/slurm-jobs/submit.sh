#!/bin/bash
# Submits the jobs of this folder in order.
prep=$(sbatch --parsable prep.sh)
train=$(sbatch --parsable --dependency=afterok:$prep train.sh)
sbatch --dependency=afterok:$train --gpus=a100:1 --time=20 --job-name=score --wrap="python score.py"
