#!/bin/sh
# slurm_cluster.sh start|stop DIR [GPUS]: a Slurm cluster of one node on loopback, of Debian's packages slurm-wlm and munge.
#
# slurmctld, slurmd and munged run as who calls, with configuration, state, logs, key and socket in DIR. There are no
# control groups (proctrack/linuxproc, task/none) and no accounting, so that a container without privileges will do. The
# node says it has 24 cores, and GPUS GPUs, whatever there are: tests want tasks that wait and tasks that run side by side.
# `start` prints the SLURM_CONF to export; exit 77 where a package is absent or a daemon does not come up.
set -u
action=$1 dir=$2 gpus=${3:-}

fail() { echo "$*" >&2; exit 77; }

find_program() {
  PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin" command -v "$1" || fail "no $1 here: Debian's packages slurm-wlm and munge have it"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Daemons stay in the foreground of a shell's background: their ids are known from the beginning, whatever becomes of them.
launch() {
  name=$1 && shift
  "$@" >>"$dir/$name.said" 2>&1 &
  echo $! >"$dir/$name.process"
}

# A process, and no zombie: nobody may be there to bury a daemon in a container.
alive() { grep -qs '^State:.[^Z]' "/proc/$(cat "$dir/$1.process" 2>/dev/null)/status"; }

# Waits up to half a minute until a command succeeds, as long as a daemon lives.
await() {
  daemon=$1 && shift
  for _ in $(seq 300); do
    alive "$daemon" || fail "$daemon: $(tail -n 1 "$dir/$daemon.said")"
    "$@" && return 0
    sleep 0.1
  done
  fail "$daemon does not come up: $(tail -n 1 "$dir/$daemon.log")"
}

any_alive() { alive slurmd || alive slurmctld || alive munged; }

stop() {
  for name in slurmd slurmctld munged; do alive "$name" && kill "$(cat "$dir/$name.process")"; done
  for _ in $(seq 20); do any_alive || return 0; sleep 0.1; done
  for name in slurmd slurmctld munged; do alive "$name" && kill -9 "$(cat "$dir/$name.process")"; done
  for _ in $(seq 20); do any_alive || return 0; sleep 0.1; done
}

configure() {
  user=$(id -un) host=$(hostname -s)
  cat >"$dir/slurm.conf" <<END
ClusterName=orrery
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$2
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none${gpus:+
GresTypes=gpu}
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SchedulerType=sched/builtin
ReturnToService=2
KillWait=5
JobRequeue=0
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=24 State=UNKNOWN${gpus:+ Gres=gpu:$gpus}
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
  printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$dir/cgroup.conf"
  for gpu in $(seq 1 ${gpus:-0}); do
    : >"$dir/gpu$gpu"
    echo "Name=gpu File=$dir/gpu$gpu" >>"$dir/gres.conf"
  done
  chmod 644 "$dir/slurm.conf" "$dir/cgroup.conf"
}

start() {
  munged=$(find_program munged) && slurmctld=$(find_program slurmctld) && slurmd=$(find_program slurmd) || exit 77
  find_program sbatch >/dev/null && find_program sinfo >/dev/null || exit 77
  mkdir -p "$dir/state" "$dir/spool" && chmod 755 "$dir"
  (umask 077 && dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 2>/dev/null)
  configure "$(free_port)" "$(free_port)"
  launch munged "$munged" --foreground --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" \
    --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
  await munged test -S "$dir/munge.socket"
  export SLURM_CONF=$dir/slurm.conf
  launch slurmctld "$slurmctld" -D -f "$SLURM_CONF"
  launch slurmd "$slurmd" -D -f "$SLURM_CONF"
  await slurmctld idle
  alive slurmd || fail "slurmd: $(tail -n 1 "$dir/slurmd.said")"
  echo "$SLURM_CONF"
}

idle() { [ "$(sinfo -h -o %T 2>/dev/null)" = idle ] || ! alive slurmd; }

case $action in
start) (start) || { status=$?; stop; exit "$status"; } ;; # in a shell of its own, which `fail` leaves
stop) stop ;;
*) echo "usage: slurm_cluster.sh start|stop DIR" >&2; exit 2 ;;
esac
