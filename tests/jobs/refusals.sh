#!/bin/sh
# refusals.sh ORRERY: what a cluster of jobs refuses, each with its words and status 2. TAP.
orrery=$1 n=0
refuse() { # WORDS OPTION...
  words=$1 n=$((n + 1))
  shift
  found=$("$orrery" run jobs-itp-64-a100 "$@" 2>&1)
  status=$?
  case $status:$found in
  2:*"$words"*) echo "ok $n - $words" ;;
  *) echo "not ok $n - $words"; echo "# $status: $found" ;;
  esac
}
refuse "there is no promise that backfill could keep" --set workload.policy.order=srtf --set workload.policy.backfill=easy
refuse "want one of" --set workload.policy.blocked=skip --set workload.policy.backfill=conservative
refuse "takes no faults" --set 'faults=[{fault: {kind: slow-gpu, gpu: 0, slower: 2}, at: 1 s}]'
refuse "it is a device, not a file" --set workload.jobs=/dev/zero
refuse "did you mean 'sjf'" --set workload.policy.order=sfj
refuse "no job of workload.queue" --set workload.queue=none
echo "1..$n"
