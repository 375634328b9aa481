#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the QEMU that has `-device lyra` from Debian's QEMU source package and prints the folder of the result.
#
#   build_qemu.sh [--cache DIR] [--jobs N] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --jobs N      compile so many files at a time (default: all processors)
#   --print       only print the folder; exit 1 when it is not built yet
#
# The folder is DIR/qemu-HASH with bin/qemu-system-x86_64 and share/qemu. HASH covers what goes in (glue, patches, lyra.h,
# this script), but not liblyra itself: QEMU needs liblyra.so.1 only when it starts and takes it from LD_LIBRARY_PATH, so
# a change of the device model builds no QEMU. The linker is satisfied by a library of empty functions made from lyra.h,
# which is not installed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
hw=$(cd "$here/../../qemu-hw" && pwd)
patches=$hw/patches/qemu-7.2
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
jobs=$(nproc)
print_only=no
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_qemu.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

hash=$(cat "$here/build_qemu.sh" "$hw/include/lyra.h" "$hw"/glue/* "$patches"/* | sha256sum | cut -c1-12)
out=$cache/qemu-$hash
if [ -x "$out/bin/qemu-system-x86_64" ]; then
    echo "$out"
    exit 0
fi
if [ $print_only = yes ]; then
    echo "$out"
    exit 1
fi

mkdir -p "$cache"
work=$cache/qemu-work
exec 9>"$cache/qemu.lock"
flock 9
if [ -x "$out/bin/qemu-system-x86_64" ]; then # built while this script waited
    echo "$out"
    exit 0
fi
mkdir -p "$work"
log=$work/log
step() {
    echo "qemu: $1" >&2
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
        tail -n 40 "$log" | cut -c1-300 >&2
        echo "qemu: failed: $*" >&2
        exit 1
    fi
}

# The source package and the compiled tree are kept, so that a change of the glue compiles the glue only.
fetch_source() (
    set -e
    . "$here/apt_private.sh"
    rm -rf "$work/apt" "$work/package"
    mkdir -p "$work/apt" "$work/package.new"
    apt_sources deb-src bookworm main >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/package.new"
    apt-get source -q --download-only qemu
    mv "$work/package.new" "$work/package"
)

# A shared library with every function of lyra.h, so that QEMU can be linked before liblyra is there.
link_library() (
    set -e
    mkdir -p "$work/lyra"
    tr '\n' ' ' <"$hw/include/lyra.h" | grep -o 'LYRA_API [^;{]*;' | grep -o 'lyra_[a-z_]*(' | sort -u |
        sed 's/(//; s/.*/void &(void); void &(void) {}/' >"$work/lyra/stub.c"
    cc -shared -fPIC -Wl,-soname,liblyra.so.1 -o "$work/lyra/liblyra.so" "$work/lyra/stub.c"
    cat >"$work/lyra/lyra.pc" <<EOF
Name: lyra
Description: emulated AMD GFX9 compute GPU
Version: 1
Cflags: -I$work/lyra/include
Libs: -L$work/lyra -llyra
EOF
)

unpack() (
    set -e
    rm -rf "$work/src" "$work/build"
    dpkg-source --no-check -x "$work"/package/qemu_7.2*.dsc "$work/src"
    for patch in "$patches"/*.patch; do
        patch -d "$work/src" -p1 <"$patch"
    done
    cp "$patches/lyra.mak" "$work/src/configs/devices/x86_64-softmmu/lyra.mak"
)

# cp -u keeps the time of what is the same, so that only what differs is compiled.
add_glue() (
    set -e
    mkdir -p "$work/lyra/include" "$work/src/hw/misc/lyra"
    for file in "$hw"/glue/*; do
        cmp -s "$file" "$work/src/hw/misc/lyra/${file##*/}" || cp "$file" "$work/src/hw/misc/lyra/"
    done
    cmp -s "$hw/include/lyra.h" "$work/lyra/include/lyra.h" || cp "$hw/include/lyra.h" "$work/lyra/include/"
)

configure_qemu() (
    set -e
    mkdir -p "$work/build"
    cd "$work/build"
    cc_command=cc
    if command -v ccache >/dev/null; then
        cc_command="ccache cc"
    fi
    PKG_CONFIG_PATH=$work/lyra "$work/src/configure" --prefix="$cache/qemu" --cc="$cc_command" \
        --target-list=x86_64-softmmu --with-devices-x86_64=lyra \
        --without-default-features --without-default-devices --disable-user --disable-werror \
        --enable-system --enable-tcg --enable-kvm --enable-virtfs --enable-attr --enable-cap-ng --enable-fdt \
        --enable-trace-backends=log --disable-debug-info --disable-install-blobs
)

compile() (
    set -e
    ninja -C "$work/build" -j "$jobs" qemu-system-x86_64
    # configure makes these only where a 32-bit C library is installed; they need none.
    roms=$work/build/pc-bios/optionrom
    printf 'TOPSRC_DIR=%s\nCC=cc\nCCAS=cc\nLD=ld\nOBJCOPY=objcopy\n' "$work/src" >"$roms/config.mak"
    make -C "$roms" all
)

# Only the program and the firmware that a q35 board with `-kernel` needs. QEMU looks in ../share/qemu from its own folder.
install_qemu() (
    set -e
    rm -rf "$work/out" "$out"
    mkdir -p "$work/out/bin" "$work/out/share/qemu"
    strip -o "$work/out/bin/qemu-system-x86_64" "$work/build/qemu-system-x86_64"
    cp /usr/share/seabios/bios-256k.bin "$work/out/share/qemu/"
    for rom in linuxboot_dma linuxboot kvmvapic pvh; do
        cp "$work/build/pc-bios/optionrom/$rom.bin" "$work/out/share/qemu/"
    done
    mv "$work/out" "$out"
)

tree=$(cat "$here/build_qemu.sh" "$patches"/* | sha256sum)
if [ "$(cat "$work/tree" 2>/dev/null)" != "$tree" ]; then
    rm -f "$work/tree"
    ls "$work"/package/qemu_7.2*.dsc >/dev/null 2>&1 || step "fetch Debian's source package" fetch_source
    step "unpack" unpack
    step "add the device" add_glue
    step "make the link library" link_library
    step "configure" configure_qemu
    echo "$tree" >"$work/tree"
else
    step "add the device" add_glue
    step "make the link library" link_library
fi
step "compile (about 3 minutes on 2 processors)" compile
step "install" install_qemu
ls -dt "$cache"/qemu-????????????/ | tail -n +5 | xargs -r rm -rf
echo "$out"
