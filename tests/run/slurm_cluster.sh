#!/bin/sh
# slurm_cluster.sh start|stop DIR: a Slurm cluster of one node on loopback, of Debian's packages slurm-wlm and munge.
#
# slurmctld, slurmd and munged run as who calls, with configuration, state, logs, key and socket in DIR. There are no
# control groups (proctrack/linuxproc, task/none) and no accounting, so that a container without privileges will do. The
# node says it has 8 cores, whatever there are: tests want tasks that wait and tasks that run side by side.
# `start` prints the SLURM_CONF to export; exit 77 where a package is absent or a daemon does not come up.
set -u
action=$1 dir=$2

fail() { echo "$*" >&2; exit 77; }

find_program() {
  PATH="$PATH:/usr/sbin:/usr/local/sbin:/sbin" command -v "$1" || fail "no $1 here: Debian's packages slurm-wlm and munge have it"
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

stop() {
  for name in slurmd slurmctld munged; do
    pid=$(cat "$dir/$name.pid" 2>/dev/null) || continue
    kill "$pid" 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null
  done
  return 0
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
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SchedulerType=sched/builtin
ReturnToService=2
KillWait=5
JobRequeue=0
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
  printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$dir/cgroup.conf"
  chmod 644 "$dir/slurm.conf" "$dir/cgroup.conf"
}

start() {
  munged=$(find_program munged) && slurmctld=$(find_program slurmctld) && slurmd=$(find_program slurmd) || exit 77
  find_program sbatch >/dev/null && find_program sinfo >/dev/null || exit 77
  mkdir -p "$dir/state" "$dir/spool" && chmod 755 "$dir"
  (umask 077 && dd if=/dev/urandom of="$dir/munge.key" bs=128 count=1 2>/dev/null)
  configure "$(free_port)" "$(free_port)"
  "$munged" --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munge.seed" >"$dir/start.log" 2>&1 || fail "$(tail -n 1 "$dir/start.log")"
  export SLURM_CONF=$dir/slurm.conf
  "$slurmctld" -f "$SLURM_CONF" >>"$dir/start.log" 2>&1 || fail "slurmctld: $(tail -n 1 "$dir/start.log")"
  "$slurmd" -f "$SLURM_CONF" >>"$dir/start.log" 2>&1 || fail "slurmd: $(tail -n 1 "$dir/start.log")"
  for _ in $(seq 150); do
    case $(sinfo -h -o %T 2>/dev/null) in idle) echo "$SLURM_CONF"; return 0 ;; esac
    sleep 0.2
  done
  fail "the node does not become idle: $(tail -n 1 "$dir/slurmctld.log") $(tail -n 1 "$dir/slurmd.log")"
}

case $action in
start) start || { status=$?; stop; exit "$status"; } ;;
stop) stop ;;
*) echo "usage: slurm_cluster.sh start|stop DIR" >&2; exit 2 ;;
esac
