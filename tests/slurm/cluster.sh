#!/bin/sh
# A SLURM of one node on this machine, out of Debian's packages slurm-wlm and munge, without systemd:
#   eval "$(cluster.sh start FOLDER)"     sets SLURM_CONF and PATH; everything it writes lies in the folder
#   cluster.sh stop FOLDER
# It listens on ports of its own and has a key of its own, so a cluster that this machine belongs to is left alone.
set -eu

case "${1:-} ${2:+FOLDER}" in
"start FOLDER" | "stop FOLDER") ;;
*)
    echo "usage: cluster.sh start|stop FOLDER" >&2
    exit 2
    ;;
esac
mkdir -p "$2"
folder=$(cd "$2" && pwd)

stop() {
    for daemon in slurmd slurmctld munged; do
        [ ! -s "$folder/$daemon.pid" ] || kill "$(cat "$folder/$daemon.pid")" 2>/dev/null || true
    done
}

if [ "$1" = stop ]; then
    stop
    exit
fi
host=$(hostname -s)
user=$(id -un)
mkdir -p "$folder/state" "$folder/spool" "$folder/bin"
chmod 755 "$folder" # munged wants clients to reach its socket
(umask 077 && head -c 1024 /dev/urandom >"$folder/munge.key")
cat >"$folder/slurm.conf" <<CONF
ClusterName=onenode
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=${SLURMCTLD_PORT:-26817}
SlurmdPort=${SLURMD_PORT:-26818}
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=300
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=64000 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
trap 'stop' EXIT
munged --force --socket="$folder/munge.socket" --key-file="$folder/munge.key" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" --num-threads=2 2>>"$folder/munged.err"
slurmctld -f "$folder/slurm.conf"
slurmd -f "$folder/slurm.conf"
tries=0
until SLURM_CONF="$folder/slurm.conf" sinfo -h -o %T 2>/dev/null | grep -q idle; do
    tries=$((tries + 1))
    if [ "$tries" -gt 60 ]; then
        echo "the node did not come up; see the logs in $folder" >&2
        exit 1
    fi
    sleep 1
done
trap - EXIT
# Snakemake's plugin clears SLURM_* from the environment of a job, and a job then calls srun.
printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$folder/slurm.conf" "$(command -v srun)" >"$folder/bin/srun"
chmod +x "$folder/bin/srun"
echo "export SLURM_CONF='$folder/slurm.conf' PATH='$folder/bin:$PATH'"
