#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --cpus-per-task=32 --gpus-per-task=2 --time=24:00:00 --signal=B:TERM@120
cd /shared/project && source .venv/bin/activate
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN=$(openssl rand -hex 32)   # others on these nodes cannot connect
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -1)
port=$((20000 + SLURM_JOB_ID % 12000))           # jobs that share a node have ports of their own
others=$((SLURM_JOB_NUM_NODES - 1))
step="srun --overlap --cpus-per-task=$SLURM_CPUS_PER_TASK"          # srun does not inherit it since SLURM 22.05
start="ray start --block --disable-usage-stats --num-cpus=$SLURM_CPUS_PER_TASK --num-gpus=2"
$step --nodes=1 --ntasks=1 -w "$head" $start --head --port="$port" --include-dashboard=false \
  --temp-dir="/tmp/trex-$SLURM_JOB_ID" &
for _ in $(seq 60); do ray health-check --address "$head:$port" 2>/dev/null && break; sleep 2; done
if [ "$others" -gt 0 ]; then
  $step --nodes="$others" --ntasks="$others" -x "$head" $start --address="$head:$port" &
fi
trap 'kill -TERM $work' TERM                     # two minutes before the end: give the queries back
trex queue run --workers 120 --address "$head:$port" --gpus-per-worker 0.05 --until-empty & work=$!
wait $work || wait $work                         # the signal ends the first wait
