#!/bin/bash
# sbatch old.sh is not submitted any more
prep=$(sbatch --parsable prep.sh)
out=$(sbatch --dependency=afterok:${prep} \
    train.sh --data "my data")
train=${out##* }
sbatch -d afterok:$train,after:$prep -G a100:1 -t 60 -J eval \
    --export=ALL,SPLIT=test,HF_TOKEN=Xq7Lm2Vn9Rt4Kw8Pz1 --wrap="python eval.py && echo done"
for seed in 1 2; do
  sbatch --dependency=afterany:$train:4711 missing.sh $seed
done
