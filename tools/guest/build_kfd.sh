#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds amdgpu.ko with a changed amdkfd for the guest's kernel, and prints its folder (amdgpu.ko and VERSIONS).
#
#   build_kfd.sh [--cache DIR] [--kernel 6.12] [--print] [lyra | TREE | FILE.ko]
#
#   lyra       Debian's source with the patches of kfd-patches/ (default)
#   TREE       a kernel tree, or its drivers/gpu/drm/amd: somebody's own changes; files that have not changed since the last
#              call are not compiled again
#   FILE.ko    a module that is built already; only checked
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# Display code (DC) is left out: it is more than half of the driver, and the GPU has no display. The first time takes about ten
# minutes on two cores. Results: DIR/kfd-HASH; HASH covers what goes in, the kernel's version with it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
. "$here/artefact.sh"
kernel=6.12
what=lyra
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --kernel) kernel=$2 && shift ;;
    --print) print_only=yes ;;
    -*) echo "build_kfd.sh: unknown argument $1" >&2 && exit 2 ;;
    *) what=$1 ;;
    esac
    shift
done
if [ "$kernel" != 6.12 ]; then
    echo "build_kfd.sh: a changed driver is built for kernel 6.12 only" >&2
    exit 2
fi
amd=drivers/gpu/drm/amd

# What goes in: a list of files, and where drivers/gpu/drm/amd is.
case $what in
lyra)
    kind=lyra
    inputs() { cat "$source_dir/kfd-patches/linux-$kernel"/series "$source_dir/kfd-patches/linux-$kernel"/*.patch "$source_dir"/scheduler/core/*.[ch] "$source_dir"/scheduler/core/*.def; }
    ;;
*.ko)
    kind=module
    [ -f "$what" ] || { echo "build_kfd.sh: no such file: $what" >&2 && exit 2; }
    what=$(realpath "$what")
    inputs() { cat "$what"; }
    ;;
*)
    kind=tree
    for tree in "$what" "$what/$amd"; do
        if [ -f "$tree/amdgpu/Makefile" ] && [ -d "$tree/amdkfd" ]; then user=$(realpath "$tree"); fi
    done
    [ -n "${user-}" ] || { echo "build_kfd.sh: $what is neither a .ko file nor a tree with $amd in it" >&2 && exit 2; }
    inputs() { (cd "$user" && find . -type f \( -name '*.[chS]' -o -name Makefile -o -name Kconfig -o -name '*.def' -o -name '*.asm' \) | LC_ALL=C sort | xargs sha256sum); }
    ;;
esac

# The kernel that the guest boots: its image makes the choice of the version.
image=$("$here/build_image.sh" --cache "$cache" --kernel "$kernel")
deb=$(sed -n '/^linux-image-/p' "$image/VERSIONS")
release=$(echo "$deb" | sed 's/^linux-image-\([^_]*\)_.*/\1/')
upload=$(echo "$deb" | sed 's/^[^_]*_\([^_]*\)_.*/\1/')

artefact kfd "$({ cat "$here/build_kfd.sh" && echo "$deb" && inputs; } | hash_of)" amdgpu.ko

# The compiler, and the headers of exactly this kernel: symbol versions are checked at load. The headers are unpacked, not
# installed: they depend on the kernel and on what makes its initramfs.
kbuild=$cache/kbuild-$release
make_kbuild() (
    set -e
    . "$here/apt_private.sh"
    mkdir -p "$work/apt" "$work/debs" "$work/kbuild"
    apt_sources deb trixie main >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/debs"
    flavour=${release##*-}
    # gcc-14 has to be the one that the kernel was built with only in its major version
    apt-get download -q "linux-source-$kernel=$upload" "linux-headers-$release=$upload" \
        "linux-headers-${release%"-$flavour"}-common=$upload" "linux-kbuild-${release%"-$flavour"}=$upload"
    unset APT_CONFIG
    mmdebstrap --variant=essential --include="gcc-14,make,libelf1t64,libssl3t64,zlib1g" --format=tar \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        trixie "$work/root.tar" "$work/apt/sources.list" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
    tar -x -f "$work/root.tar" -C "$work/kbuild" --no-same-owner --exclude='./dev/*'
    chmod -R u+rwX "$work/kbuild"
    for file in linux-headers-*.deb linux-kbuild-*.deb; do dpkg-deb --fsys-tarfile "$file" | tar -x -C "$work/kbuild" --keep-directory-symlink; done
    mkdir "$work/source"
    cd "$work/source"
    dpkg-deb --fsys-tarfile ../debs/linux-source-*.deb | tar -x -O --wildcards '*.tar.xz' |
        tar -x -J --strip-components=1 --wildcards '*/drivers/gpu/drm/amd' '*/drivers/gpu/drm/Makefile'
    mkdir -p "$work/kbuild/usr/src/linux-$kernel/${amd%/*}"
    mv "$amd" "${amd%/*}/Makefile" "$work/kbuild/usr/src/linux-$kernel/${amd%/*}/"
    rm -rf "$kbuild"
    mv "$work/kbuild" "$kbuild"
    ls -dt "$cache"/kbuild-* | tail -n +3 | xargs -r rm -rf
)

inside() (
    enter='mount --bind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --bind "$2" "$1/mnt" && root=$1 && shift 2 && exec chroot "$root" "$@"'
    if [ "$(id -u)" = 0 ]; then
        spaces="--mount"
    else
        spaces="--user --map-root-user --mount --pid --fork"
        enter=$(echo "$enter" | sed 's/mount --bind/mount --rbind/g')
    fi
    # shellcheck disable=SC2086
    unshare $spaces sh -c "$enter" sh "$kbuild" "$1" env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 sh -c "$2"
)

# The sources with what has changed since the last time, so that only that is compiled again.
tree=$cache/kfd-tree-$release-$kind
refresh() (
    set -e
    mkdir -p "$work/new" "$tree/include/trace" "$tree/${amd%/*}"
    if [ "$kind" = lyra ]; then
        mkdir -p "$work/new/${amd%/*}"
        cp -a "$kbuild/usr/src/linux-$kernel/${amd%/*}/." "$work/new/${amd%/*}/"
        sed -e 's/#.*//' -e '/^ *$/d' "$source_dir/kfd-patches/linux-$kernel/series" | while read -r patch; do
            patch -d "$work/new" -p1 --no-backup-if-mismatch -s <"$source_dir/kfd-patches/linux-$kernel/$patch"
        done
        # The policy core is not in the patches: they would be a second copy of it.
        "$source_dir/kfd-patches/export_core.sh" "$work/new/$amd/amdkfd"
        user=$work/new/$amd
    fi
    rsync -r --checksum --delete --exclude='*.o' --exclude='*.cmd' --exclude='*.ko' --exclude='*.mod*' --exclude='modules.order' \
        --exclude='Module.symvers' --exclude='.git' "$user/" "$tree/$amd/"
)

# Without display: an empty value in make leaves its objects out, the header its code; -U would come before autoconf.h.
compile() (
    set -e
    cat >"$work/no_dc.h" <<'EOF'
#undef CONFIG_DRM_AMD_DC
#undef CONFIG_DRM_AMD_DC_FP
#undef CONFIG_DRM_AMD_DC_SI
EOF
    cmp -s "$work/no_dc.h" "$tree/no_dc.h" || cp "$work/no_dc.h" "$tree/no_dc.h" # every object depends on it
    inside "$tree" "make -C /usr/src/linux-headers-$release M=/mnt/$amd/amdgpu CONFIG_DRM_AMD_DC= CONFIG_DRM_AMD_DC_FP= CONFIG_DRM_AMD_DC_SI= \
        CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS='-I/mnt/include/trace -include /mnt/no_dc.h' -j$(nproc) modules"
    cp "$tree/$amd/amdgpu/amdgpu.ko" "$work/amdgpu.ko"
)

# As the image's quick copy of Debian's module: without debug information, and without the list of functions that ftrace could
# patch, which costs 10 s at load under emulation. Tracepoints are not of that list.
finish() (
    set -e
    magic=$(modinfo -F vermagic "$work/amdgpu.ko")
    case $magic in
    "$release "*) ;;
    *) echo "error: the module is for kernel '$magic', the guest has $release" && exit 1 ;;
    esac
    mkdir "$work/out"
    objcopy --strip-debug --remove-section=__mcount_loc --remove-section=.rela__mcount_loc "$work/amdgpu.ko" "$work/out/amdgpu.ko"
    { echo "$deb" && echo "$kind"; } >"$work/out/VERSIONS"
)

if [ "$kind" != module ]; then
    if ! [ -f "$kbuild/usr/src/linux-$kernel/${amd%/*}/Makefile" ]; then step "install compiler, headers and source of kernel $release (a minute or two, 1.5 GB)" make_kbuild; fi
    step "take the sources" refresh
    step "compile (the first time some ten minutes)" compile
else
    cp "$what" "$work/amdgpu.ko"
fi
step "check" finish
publish 4
