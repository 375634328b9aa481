#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the guest image (kernel, initramfs, disk) and prints its folder.
#
#   build_image.sh [--cache DIR] [--kernel 6.12|6.1] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --kernel V    Debian kernel: 6.12 of trixie (default) or 6.1 of bookworm
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/image-V-HASH with vmlinux, vmlinuz, initramfs, root.erofs and VERSIONS; HASH covers the scripts and lists of
# this folder that the image is made of. Modules and firmware are Debian's files, unpacked: nothing in them is changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
kernel=6.12
print_only=no
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_image.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
case $kernel in
6.12) release=trixie ;;
6.1) release=bookworm ;;
*) echo "build_image.sh: --kernel is 6.12 or 6.1" >&2 && exit 2 ;;
esac

hash=$(cat "$here/build_image.sh" "$here/build_root.sh" "$here/packages-guest.txt" "$here/image-exclude.txt" \
    "$here"/init/* | sha256sum | cut -c1-12)
out=$cache/image-$kernel-$hash
if [ -f "$out/root.erofs" ]; then
    echo "$out"
    exit 0
fi
if [ $print_only = yes ]; then
    echo "$out"
    exit 1
fi

root=$("$here/build_root.sh" --cache "$cache")
exec 9>"$cache/image.lock"
flock 9
if [ -f "$out/root.erofs" ]; then # made while this script waited
    echo "$out"
    exit 0
fi
# In the cache, so that the root can be hard-linked into it.
work=$(mktemp -d "$cache/.image.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
log=$work/log
step() {
    echo "image: $1" >&2
    shift
    # Not in a condition: there "set -e" would have no effect inside.
    set +e
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    result=$?
    set -e
    if [ $result != 0 ]; then
        tail -n 30 "$log" | cut -c1-300 >&2
        echo "image: failed: $*" >&2
        exit 1
    fi
}

# Debian's kernel and firmware packages, kept in the cache; apt asks whether there are newer ones only when they are missing.
fetch() (
    set -e
    debs=$cache/debs-$kernel
    if ! [ -f "$debs/complete" ]; then
        . "$here/apt_private.sh"
        rm -rf "$debs"
        mkdir -p "$work/apt" "$debs"
        apt_sources deb "$release" main non-free-firmware >"$work/apt/sources.list"
        apt_private "$work/apt"
        image=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
        cd "$debs"
        apt-get download -q "$image" firmware-amd-graphics
        touch "$debs/complete"
    fi
    mkdir "$work/kernel" "$work/firmware"
    dpkg-deb -x "$debs"/linux-image-*.deb "$work/kernel"
    dpkg-deb -x "$debs"/firmware-amd-graphics_*.deb "$work/firmware"
    # bookworm's packages still use /lib
    for tree in "$work/kernel" "$work/firmware"; do
        if [ -d "$tree/lib" ]; then
            mkdir -p "$tree/usr"
            mv "$tree/lib" "$tree/usr/lib"
        fi
    done
)

# The root without the compiler, as hard links: no file in it may be changed in place.
stage_root() (
    set -e
    cp -al "$root" "$work/root"
    cd "$work/root"
    sed '/^#/d' "$here/image-exclude.txt" | while read -r pattern; do
        # shellcheck disable=SC2086
        rm -rf $pattern
    done
    rm -rf lib/modules etc/hostname etc/fstab
    mkdir -p job dev proc sys tmp run mnt root var/tmp usr/lib/lyra usr/lib/firmware/amdgpu
    install -m 755 "$here/init/lyra_init" usr/lib/lyra/init
    echo lyra >etc/hostname
    # lspci names the device, whose id belongs to no product.
    awk '{ print } /^1002 / { print "\t9a00  Lyra emulated GFX9 compute GPU" }' usr/share/misc/pci.ids >"$work/pci.ids"
    rm usr/share/misc/pci.ids
    mv "$work/pci.ids" usr/share/misc/pci.ids
    # Commands that Debian's essential packages lack (mount, ip, poweroff, vi ...), last in PATH.
    mkdir usr/lib/lyra/bin
    "$root/usr/bin/busybox" --list | while read -r name; do
        ln -s /usr/bin/busybox "usr/lib/lyra/bin/$name"
    done
    for name in pfp me ce rlc mec mec2; do
        cp -a "$work/firmware/usr/lib/firmware/amdgpu/vega10_$name.bin" usr/lib/firmware/amdgpu/
    done
    for name in vega12_sdma vega12_sdma1 vega20_sos vega20_asd vega20_ta; do
        cp -a "$work/firmware/usr/lib/firmware/amdgpu/$name.bin" usr/lib/firmware/amdgpu/
    done
)

# Modules are unpacked here, because xz under emulation costs seconds.
# stage_modules TREE NAMES...: those modules with what they depend on, as .ko below TREE.
stage_modules() (
    set -e
    version=$(ls "$work/kernel/usr/lib/modules")
    from=$work/kernel/usr/lib/modules/$version
    to=$1/usr/lib/modules/$version
    shift
    depmod -b "$work/kernel/usr" "$version"
    mkdir -p "$to"
    for name in "$@"; do
        modprobe -d "$work/kernel/usr" -S "$version" --show-depends "$name"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r file; do
        path=$to/${file#"$from"/}
        mkdir -p "${path%/*}"
        case $file in
        *.xz) xz -dc "$file" >"${path%.xz}" ;;
        *) cp "$file" "$path" ;;
        esac
    done
    cp "$from"/modules.builtin* "$from/modules.order" "$to/"
    depmod -b "${to%/lib/modules/*}" "$version"
)

# A second copy of the driver without its __mcount_loc section and without the signature, which covers that section too.
# __mcount_loc lists the functions that can be traced; at load the kernel looks each of the 14000 up among 46000 symbols,
# which is 4 of 5 parts of the load time under emulation. Code and data are Debian's, which is checked here. The guest uses
# this copy unless the kernel command line says lyra.module=stock.
quick_driver() (
    set -e
    stock=$(find "$work/root/usr/lib/modules" -name amdgpu.ko)
    mkdir "$work/root/usr/lib/lyra/quick"
    quick=$work/root/usr/lib/lyra/quick/amdgpu.ko
    objcopy --remove-section=__mcount_loc --remove-section=.rela__mcount_loc "$stock" "$quick"
    for section in $(readelf -SW "$stock" | sed -n 's/^ *\[ *[0-9]*\] \([^ ]*\) *PROGBITS .*/\1/p'); do
        [ "$section" != __mcount_loc ] || continue
        objcopy -O binary --set-section-flags "$section=alloc,contents" -j "$section" "$stock" "$work/stock.bin"
        objcopy -O binary --set-section-flags "$section=alloc,contents" -j "$section" "$quick" "$work/quick.bin"
        cmp "$work/stock.bin" "$work/quick.bin"
    done
)

# /init runs in a file system of busybox and the few modules that the disk needs, loaded in the order of their names.
make_initramfs() (
    set -e
    version=$(ls "$work/kernel/usr/lib/modules")
    tree=$work/initramfs
    mkdir -p "$tree/bin" "$tree/dev" "$tree/root" "$tree/modules" "$tree/modules-loop"
    cp "$root/usr/bin/busybox" "$tree/bin/busybox"
    install -m 755 "$here/init/initramfs_init" "$tree/init"
    n=10
    for name in virtio_pci virtio_blk virtio_console erofs; do # some are built in
        modprobe -d "$work/kernel/usr" -S "$version" --show-depends "$name"
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | while read -r file; do
        name=${file##*/}
        case $name in
        crc32c-intel.ko*) continue ;; # the generic one is enough
        *.xz) xz -dc "$file" >"$tree/modules/$n-${name%.xz}" ;;
        *) cp "$file" "$tree/modules/$n-$name" ;;
        esac
        n=$((n + 1))
    done
    loop=$(modprobe -d "$work/kernel/usr" -S "$version" --show-depends loop | sed -n 's/^insmod \([^ ]*\).*/\1/p')
    case $loop in
    *.xz) xz -dc "$loop" >"$tree/modules-loop/loop.ko" ;;
    *) cp "$loop" "$tree/modules-loop/loop.ko" ;;
    esac
    (cd "$tree" && find . | LC_ALL=C sort | cpio -o -H newc --owner=0:0 --quiet) >"$work/out/initramfs"
)

make_disk() (
    set -e
    mkfs.erofs --all-root -T0 -x-1 --quiet "$work/out/root.erofs" "$work/root"
)

# The kernel's ELF file out of the self-extracting vmlinuz: QEMU starts it directly, which saves the unpacking under
# emulation (half a second). vmlinuz itself is kept for machines that cannot start it so.
unpack_kernel() (
    set -e
    cp "$work/kernel/boot"/vmlinuz-* "$work/out/vmlinuz"
    python3 - "$work/out/vmlinuz" "$work/out/vmlinux" <<'EOF'
import re, subprocess, sys
image = open(sys.argv[1], "rb").read()
for magic, command in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz"), (b"\x1f\x8b\x08", "gzip")):
    for found in re.finditer(re.escape(magic), image):
        result = subprocess.run([command, "-dc"], input=image[found.start():], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL).stdout
        if result[:4] == b"\x7fELF":
            open(sys.argv[2], "wb").write(result)
            sys.exit(0)
sys.exit("no ELF file found in " + sys.argv[1])
EOF
)

versions() (
    set -e
    cd "$cache/debs-$kernel"
    ls ./*.deb | sed 's,^./,,'
    dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n' libhsakmt1 libhsa-runtime64-1 libamdhip64-5 hipcc
) >"$work/out/VERSIONS"

mkdir "$work/out"
step "fetch Debian's kernel $kernel and firmware" fetch
step "unpack the kernel" unpack_kernel
step "stage the root file system" stage_root
step "unpack modules" stage_modules "$work/root" amdgpu 9p 9pnet_virtio overlay
step "make the quick copy of the driver" quick_driver
step "make the initramfs" make_initramfs
step "make the disk" make_disk
versions
rm -rf "$out"
mv "$work/out" "$out"
# The last two are kept: half a gigabyte each.
ls -dt "$cache/image-$kernel"-* | tail -n +3 | xargs -r rm -rf
echo "$out"
