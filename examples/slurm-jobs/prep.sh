#!/bin/bash
#SBATCH --job-name=prep
#SBATCH --partition=cpu
#SBATCH --cpus-per-task=4
#SBATCH --mem=16G
#SBATCH --time=30
python prep.py
