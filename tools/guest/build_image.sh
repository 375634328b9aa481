#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the guest image (kernel, initramfs, disk) and prints its folder.
#
#   build_image.sh [--cache DIR] [--release R] [--kernel V | --kernel-files DIR] [--packages A,B,...] [--print]
#
#   --cache DIR      where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --release R      Debian release of the userland, a row of guests.tsv (default: its first)
#   --kernel V       Debian kernel, a row of guests.tsv (default: its first)
#   --kernel-files DIR  another kernel, a folder of build_tree.sh; the firmware is that of --kernel
#   --packages LIST  more packages of that release, separated by commas
#   --print          only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/image-R-V-HASH (V is tree with --kernel-files) with vmlinux, vmlinuz, initramfs, root.erofs and VERSIONS;
# HASH covers the scripts and lists of this folder that the image is made of. Modules and firmware are Debian's files, unpacked:
# nothing in them is changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
release=$(awk '$1 == "release" { print $2; exit }' "$here/guests.tsv")
kernel=$(awk '$1 == "kernel" { print $2; exit }' "$here/guests.tsv")
packages= files=
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --release) release=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --kernel-files) files=$2 && shift ;;
    --packages) packages=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_image.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
suite=$(awk -v name="$kernel" '$1 == "kernel" && $2 == name { print $3 }' "$here/guests.tsv")
firmware=$(awk -v name="$kernel" '$1 == "kernel" && $2 == name { print $4 }' "$here/guests.tsv")
if [ -z "$suite" ]; then
    echo "build_image.sh: there is no kernel $kernel in guests.tsv" >&2
    exit 2
fi
why=$(awk -F '\t' -v r="$release" -v k="$kernel" '$1 == "without" && $2 == r && $3 == k { print $4 }' "$here/guests.tsv")
if [ -n "$why" ] && [ -z "$files" ]; then
    echo "build_image.sh: release $release does not work with kernel $kernel: $why" >&2
    exit 2
fi

set -- --cache "$cache" --release "$release" --packages "$packages"
root=$("$here/build_root.sh" "$@" --print) || [ $print_only = yes ] || root=$("$here/build_root.sh" "$@")
artefact "image-$release-$([ -z "$files" ] && echo "$kernel" || echo tree)" "$({
    cat "$here/build_image.sh" "$here/image-exclude.txt" "$here/hipcc.sh" "$here"/init/* &&
        echo "${root##*/} $suite $firmware" && { [ -z "$files" ] || cat "$files/id"; }; } | hash_of)" root.erofs

# Debian's kernel and firmware packages, kept in the cache; apt asks whether there are newer ones only when they are missing.
debs=$cache/debs-$kernel
firmware_debs=$cache/debs-firmware-$firmware
. "$here/apt_private.sh"
download() ( # FOLDER SUITE COMPONENT PACKAGE; linux-image-amd64 stands for the packages that the newest kernel is in
    set -e
    [ ! -f "$1/complete" ] || exit 0
    apt=$(mktemp -d "$work/apt.XXXXXX")
    rm -rf "$1"
    mkdir -p "$1"
    cd "$1"
    apt_sources deb "$2" "$3" >"$apt/sources.list"
    shift 3
    apt_private "$apt"
    if [ "$1" = linux-image-amd64 ]; then
        image=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
        version=${image#linux-image-}
        set -- "$image"
        # Kernel, modules and lists are packages of their own since 7.2.
        if apt-cache show "linux-binary-$version" >/dev/null 2>&1; then
            set -- "$image" "linux-binary-$version" "linux-modules-$version" "linux-base-$version"
        fi
    fi
    apt-get download -q "$@"
    touch complete
)

fetch() (
    set -e
    download "$firmware_debs" "$firmware" non-free-firmware firmware-amd-graphics
    mkdir "$work/kernel" "$work/firmware"
    dpkg-deb -x "$firmware_debs"/firmware-amd-graphics_*.deb "$work/firmware"
    if [ -n "$files" ]; then
        cp -a "$files/kernel/." "$work/kernel/"
    else
        download "$debs" "$suite" main linux-image-amd64
        for deb in "$debs"/linux-*.deb; do
            dpkg-deb -x "$deb" "$work/kernel"
        done
    fi
    # bookworm's packages still use /lib
    for tree in "$work/kernel" "$work/firmware"; do
        if [ -d "$tree/lib" ]; then
            mkdir -p "$tree/usr"
            mv "$tree/lib" "$tree/usr/lib"
        fi
    done
)

# Puts the files of the packages of --packages back that the list of exclusions has taken, and those of what they depend on.
# -dev packages and compilers are used natively only.
restore_packages() (
    set -e
    awk -v wanted="$packages" '
        /^Package: / { name = $2 }
        /^(Depends|Pre-Depends): / { sub(/^[^:]*: /, ""); gsub(/\([^)]*\)|:any/, ""); gsub(/[,|]/, " "); needs[name] = needs[name] " " $0 }
        function visit(name,    i, n, words) {
            if (seen[name]++ || !(name in needs) && !first[name] || name ~ /^(hipcc$|clang-|llvm-|lld-|libclang|gcc-|g\+\+-|cpp-)/) return
            if (name !~ /-dev$/ || first[name]) print name
            if (name ~ /-dev$/ && !first[name]) return
            n = split(needs[name], words, " ")
            for (i = 1; i <= n; i++) visit(words[i])
        }
        END { n = split(wanted, names, ","); for (i = 1; i <= n; i++) first[names[i]] = 1; for (i = 1; i <= n; i++) visit(names[i]) }
    ' "$root/var/lib/dpkg/status" | while read -r name; do
        cat "$root/var/lib/dpkg/info/$name.list" "$root/var/lib/dpkg/info/$name:amd64.list" 2>/dev/null || true
    done | sed -e 's,^/,,' -e '/\.a$/d' -e '\,^usr/include/,d' -e '\,^usr/share/\(doc\|man\|locale\)/,d' |
        LC_ALL=C sort -u | (cd "$root" && while read -r file; do
            [ -e "$work/root/$file" ] || [ -d "$file" ] || ! [ -e "$file" ] || echo "$file"
        done | cpio -pdl --quiet "$work/root")
    # rocBLAS has its kernels for each chip in files of their own: 1.5 GB of them are for others.
    find "$work/root/usr/lib" -path '*/rocblas/*/library/*' \( -name '*gfx1*' -o -name '*gfx8*' -o -name '*gfx906*' -o -name '*gfx908*' \
        -o -name '*gfx90a*' -o -name '*gfx94*' -o -name '*gfx95*' \) -delete
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
    restore_packages
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
    for name in vega12_sdma vega12_sdma1 vega20_sos vega20_asd vega20_ta \
        aldebaran_mec aldebaran_mec2 aldebaran_rlc gc_9_4_3_mec gc_9_4_3_rlc sdma_4_4_2; do
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
    "") ;; # built in
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
# emulation (half a second). vmlinuz itself is kept for machines that cannot start it so. Under KASAN the entry for that (PVH)
# ends in a triple fault, so a kernel of the user's own unpacks itself.
unpack_kernel() (
    set -e
    for file in "$work/kernel/boot"/vmlinuz-* "$work/kernel/usr/lib/modules"/*/vmlinuz; do
        [ ! -f "$file" ] || cp "$file" "$work/out/vmlinuz"
    done
    if [ -n "$files" ]; then
        cp "$work/out/vmlinuz" "$work/out/vmlinux"
        exit 0
    fi
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

# The process that programs begin in when a guest goes on from a saved machine, how one in virtual time gets its job, and what
# keeps the results of HIP's compiler. The latter is loaded into whatever runs with it, so it has no other libraries with it.
compile_programs() (
    set -e
    "$here/hipcc.sh" --cache "$cache" --release "$release" --packages "$packages" "$here/init/warm.cpp" "$work/warm" -O2 -ldl
    "$here/hipcc.sh" --cache "$cache" --release "$release" --packages "$packages" "$here/init/host.cpp" "$work/host" -O2 \
        -x c++ -std=c++20 -no-hip-rt -Wl,--as-needed
    "$here/hipcc.sh" --cache "$cache" --release "$release" --packages "$packages" "$here/init/comgr_cache.cpp" \
        "$work/comgr_cache.so" -O2 -std=c++20 -fPIC -shared -no-hip-rt -static-libstdc++ -static-libgcc -Wl,--as-needed
    install -m 755 "$work/warm" "$work/host" "$work/comgr_cache.so" "$work/root/usr/lib/lyra/"
)

# What a guest of this image runs: the kernel's packages, then "NAME VERSION" of the userland's.
versions() (
    set -e
    if [ -n "$files" ]; then cat "$files/VERSIONS"; else (cd "$debs" && ls ./*.deb); fi | sed 's,^./,,'
    (cd "$firmware_debs" && ls ./*.deb) | sed 's,^./,,'
    dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' 'libhsakmt1' 'libhsa-runtime64-1' \
        'libamdhip64-*' 'hipcc' 2>/dev/null | sed -n 's/^ii *//p'
) >"$work/out/VERSIONS"

mkdir "$work/out"
step "fetch $([ -n "$files" ] || echo "Debian's kernel $kernel and ")firmware" fetch
step "unpack the kernel" unpack_kernel
step "stage the root file system" stage_root
step "compile programs of the guest" compile_programs
step "unpack modules" stage_modules "$work/root" amdgpu 9p 9pnet_virtio overlay
step "make the quick copy of the driver" quick_driver
step "make the initramfs" make_initramfs
step "make the disk" make_disk
versions
publish 4
