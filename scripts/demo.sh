#!/bin/sh
# The main job on the shipped example, end to end: lint, graph, plan, run, report.
set -eu
cd "$(dirname "$0")/../examples/grpo-addition"
mkdir -p .dsec
job=${JOB:-demo-$(date -u +%Y%m%d-%H%M%S)}

say() { printf '\n$ %s\n' "$*"; }
do_it() {
    say "$@"
    "$@"
}

do_it ds-contract-lint dsandbox.yaml
do_it ds-dag-analyze dsandbox.yaml
do_it dsec plan dsandbox.yaml -o .dsec/plan.json
do_it dsec run .dsec/plan.json --job-id "$job"
do_it dsec report "$job"
do_it python show.py ".dsec/runs/$job/work"
printf '\nreport: %s\n' "$(pwd)/.dsec/runs/$job/report.md"
