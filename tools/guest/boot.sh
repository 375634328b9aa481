#!/bin/sh
# SPDX-License-Identifier: MIT
# Boots the guest by hand, as PROTOCOL.md describes; for work on the device and the image. `./lyra run` does it for users.
#
#   boot.sh [OPTIONS] --cmd TEXT        run shell text in the guest, its output and exit status become ours
#   boot.sh [OPTIONS] --script FILE     the same with a file
#   boot.sh [OPTIONS] PROGRAM [ARGS]    copy an executable into the guest and run it
#   boot.sh [OPTIONS] --shell           a shell in the guest (end it with exit or Ctrl-A x)
#
#   --lib DIR        folder of liblyra.so.1 (default: LD_LIBRARY_PATH as it is)
#   --cache DIR      as for build_qemu.sh
#   --kernel V       a kernel of guests.tsv (6.12)   --release R  a release of guests.tsv (trixie)
#   --no-driver      do not load amdgpu before the job
#   --stock-driver   load Debian's file of amdgpu, not the quick copy of it
#   --no-device      a guest without the GPU
#   --device TEXT    more properties of the device, such as vram=1G,cus=4
#   --accel A        tcg (default) or kvm       --cpu C   --smp N (1)   --mem SIZE (4G)
#   --append TEXT    more words for the kernel command line
#   --qemu TEXT      more words for QEMU's command line, such as "-d guest_errors,unimp -D FILE"
#   --share DIR      a host folder, at /mnt/share in the guest
#   --file FILE      copy one more file into the job's folder (may be repeated)
#   --log FILE       serial log (default: a temporary file, named on failure)
#   --times          print the boot times to standard error
#   --timeout S      kill the guest after so many seconds (default 300)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache= kernel=6.12 release=trixie driver=amdgpu device=lyra props= accel=tcg cpu=max,la57=off,erms=off,fsrm=off smp=1 mem=4G append= extra= share= log= mode=job
times=no limit=300 cmd= script= files=
while [ $# -gt 0 ]; do
    case $1 in
    --cmd) cmd=$2 && shift ;;
    --script) script=$2 && shift ;;
    --shell) mode=shell ;;
    --lib) LD_LIBRARY_PATH=$2 && export LD_LIBRARY_PATH && shift ;;
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --release) release=$2 && shift ;;
    --no-driver) driver=none ;;
    --stock-driver) append="$append lyra.module=stock" ;;
    --no-device) device= driver=none ;;
    --device) props=,$2 && shift ;;
    --accel) accel=$2 && shift ;;
    --cpu) cpu=$2 && shift ;;
    --smp) smp=$2 && shift ;;
    --mem) mem=$2 && shift ;;
    --append) append="$append $2" && shift ;;
    --qemu) extra=$2 && shift ;;
    --share) share=$2 && shift ;;
    --file) files="$files $2" && shift ;;
    --log) log=$2 && shift ;;
    --times) times=yes ;;
    --timeout) limit=$2 && shift ;;
    -*) echo "boot.sh: unknown option $1" >&2 && exit 2 ;;
    *) break ;;
    esac
    shift
done
: "${cache:=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}}"
qemu=$("$here/build_qemu.sh" --cache "$cache")
image=$("$here/build_image.sh" --cache "$cache" --kernel "$kernel" --release "$release")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/job"
if [ -n "$cmd" ]; then
    printf '#!/bin/bash\n%s\n' "$cmd" >"$work/job/run"
elif [ -n "$script" ]; then
    cp "$script" "$work/job/run"
elif [ $# -gt 0 ]; then
    cp "$1" "$work/job/program"
    shift
    {
        printf '#!/bin/bash\nexec ./program'
        for arg in "$@"; do
            printf " '%s'" "$(printf %s "$arg" | sed "s/'/'\\\\''/g")"
        done
        echo
    } >"$work/job/run"
fi
for file in $files; do
    cp "$file" "$work/job/"
done
tar -c -f "$work/job.tar" --format=ustar -C "$work/job" .
truncate -s %1M "$work/job.tar" # shorter, and the kernel complains that it finds no partition table
[ -n "$log" ] || log=$work/serial.log
[ -z "$share" ] || append="$append lyra.share=share"

# Without arch-capabilities QEMU starts also where the host is itself a guest.
accel_text=$accel
if [ "$accel" = tcg ]; then accel_text=tcg,thread=multi; fi
if [ "$accel" = kvm ]; then cpu=host,arch-capabilities=off; fi
words="console=ttyS0 panic=-1 tsc=reliable mitigations=off nokaslr no_timer_check audit=0 random.trust_cpu=on lyra.driver=$driver $append"
set -- "$qemu/bin/qemu-system-x86_64" -nodefaults -no-user-config -display none -no-reboot -M q35 \
    -accel "$accel_text" -cpu "$cpu" -smp "$smp" -m "$mem" \
    -kernel "$image/vmlinux" -initrd "$image/initramfs" \
    -drive "if=none,id=root,format=raw,readonly=on,file=$image/root.erofs" -device virtio-blk-pci,drive=root \
    -drive "if=none,id=job,format=raw,readonly=on,file=$work/job.tar" -device virtio-blk-pci,drive=job \
    -device virtio-serial-pci -serial "file:$log"
if [ $mode = shell ]; then
    set -- "$@" -append "$words lyra.mode=shell lyra.tty=hvc0" \
        -chardev stdio,id=tty,mux=on,signal=off -device virtconsole,chardev=tty -mon chardev=tty
else
    for port in stdout stderr control dmesg; do
        : >"$work/$port"
        set -- "$@" -chardev "file,id=$port,path=$work/$port" -device "virtserialport,chardev=$port,name=lyra.$port"
    done
    set -- "$@" -append "$words"
fi
[ -z "$share" ] || set -- "$@" -virtfs "local,path=$share,mount_tag=share,security_model=none"
[ -z "$device" ] || set -- "$@" -device pcie-root-port,id=gpu,chassis=1,hotplug=off -device "lyra,bus=gpu$props"
# shellcheck disable=SC2086
if [ $mode = shell ]; then
    "$@" $extra
    exit
fi
# shellcheck disable=SC2086
timeout --foreground "$limit" "$@" $extra >&2 </dev/null || echo "boot.sh: QEMU ended with $?" >&2
cat "$work/stdout"
cat "$work/stderr" >&2
grep '^error' "$work/control" >&2 || true
[ $times = no ] || grep '^times' "$work/control" >&2 || true
status=$(sed -n 's/^exit //p' "$work/control")
if [ -z "$status" ]; then
    echo "boot.sh: the guest did not finish; end of its log:" >&2
    tail -n 30 "$log" >&2
    exit 70
fi
exit "$status"
