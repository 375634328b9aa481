#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the QEMU that has `-device lyra` from Debian's QEMU source package and prints the folder of the result.
#
#   build_qemu.sh [--cache DIR] [--qemu 10.0|11.1] [--source TARBALL] [--jobs N] [--print]
#
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --qemu V      10.0 of trixie (default) or 11.1 of trixie-backports, which needs python3-setuptools and python3-wheel of
#                 the host; also LYRA_QEMU
#   --source F    QEMU's source, in place of Debian's package of that version; also LYRA_QEMU_SOURCE
#   --jobs N      compile so many files at a time (default: all processors)
#   --print       only print the folder; exit 1 when it is not built yet
#
# The folder is DIR/qemu-V-HASH with bin/qemu-system-x86_64 and share/qemu. HASH covers what goes in (glue, patches, lyra.h,
# this script), but not liblyra itself: QEMU needs liblyra.so.1 only when it starts and takes it from LD_LIBRARY_PATH, so
# a change of the device model builds no QEMU. The linker is satisfied by a library of empty functions made from lyra.h,
# which is not installed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
installed=$here/../../qemu # of the package qemu-system-lyra
hw=$here/../../qemu-hw
. "$here/artefact.sh"
jobs=$(nproc)
qemu=${LYRA_QEMU:-10.0}
source=${LYRA_QEMU_SOURCE:-}
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --qemu) qemu=$2 && shift ;;
    --source) source=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_qemu.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done
if [ -x "$installed/bin/qemu-system-x86_64" ]; then
    readlink -f "$installed"
    exit 0
fi
case $qemu in
10.0) suite=trixie binaries=trixie python=meson ;;
11.1) suite=trixie-backports binaries="trixie trixie-backports" python="meson python3-pycotap python3-qemu-qmp" ;;
*) echo "build_qemu.sh: --qemu is 10.0 or 11.1" >&2 && exit 2 ;;
esac

hw=$(cd "$hw" && pwd)
artefact "qemu-$qemu" "$(hash_of "$here/build_qemu.sh" "$hw/include/lyra.h" "$hw"/glue/* "$hw"/patches/* ${source:+"$source"})" bin/qemu-system-x86_64

# The source package and the compiled tree are kept, so that a change of the glue compiles the glue only. meson and what else
# configure wants of Python are unpacked, not installed: QEMU wants newer ones than Debian 12 has.
built=$cache/qemu-work-$qemu
export PYTHONPATH="$built/meson/usr/lib/python3/dist-packages" # ninja calls it too
fetch_source() (
    set -e
    . "$here/apt_private.sh"
    rm -rf "$built"
    mkdir -p "$work/apt" "$work/package" "$built"
    { apt_sources deb-src "$suite" main && for from in $binaries; do apt_sources deb "$from" main; done; } >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/package"
    if [ -n "$source" ]; then
        cp "$source" qemu.orig.tar
    else
        apt-get source -q --download-only "qemu/$suite"
    fi
    # shellcheck disable=SC2086 # a list of packages
    apt-get download -q $python
    for deb in *.deb; do dpkg-deb -x "$deb" "$built/meson"; done
    mv "$work/package" "$built/package"
)

# A shared library with every function of lyra.h, so that QEMU can be linked before liblyra is there.
link_library() (
    set -e
    mkdir -p "$built/lyra"
    tr '\n' ' ' <"$hw/include/lyra.h" | grep -o 'LYRA_API [^;{]*;' | grep -o 'lyra_[a-z_]*(' | sort -u |
        sed 's/(//; s/.*/void &(void); void &(void) {}/' >"$built/lyra/stub.c"
    cc -shared -fPIC -Wl,-soname,liblyra.so.1 -o "$built/lyra/liblyra.so" "$built/lyra/stub.c"
    cat >"$built/lyra/lyra.pc" <<EOF
Name: lyra
Description: emulated AMD GFX9 compute GPU
Version: 1
Cflags: -I$built/lyra/include
Libs: -L$built/lyra -llyra
EOF
)

unpack() (
    set -e
    rm -rf "$built/src" "$built/build"
    if [ -n "$source" ]; then
        mkdir "$built/src"
        tar -xf "$built/package/qemu.orig.tar" -C "$built/src" --strip-components=1
        # Debian's tarballs have no firmware and no device trees.
        sed -i 's/unpack_edk2_blobs = bzip2.found()/unpack_edk2_blobs = false/' "$built/src/meson.build"
        sed -i "/^subdir('dtb')/d" "$built/src/pc-bios/meson.build"
    else
        dpkg-source --no-check -x "$built"/package/qemu_*.dsc "$built/src"
    fi
    renamed=
    [ "$qemu" = 10.0 ] || renamed='s/cpu_physical_memory_get/physical_memory_get/; s/xlat_section/xlat_offset/'
    for patch in "$hw"/patches/*.patch; do
        sed "$renamed" "$patch" | patch -d "$built/src" -p1
    done
    echo 'source lyra/Kconfig' >>"$built/src/hw/misc/Kconfig"
    echo "subdir('lyra')" >>"$built/src/hw/misc/meson.build"
    cp "$hw/patches/lyra.mak" "$built/src/configs/devices/x86_64-softmmu/lyra.mak"
)

# What is the same keeps its time, so that only what differs is compiled.
add_glue() (
    set -e
    mkdir -p "$built/lyra/include" "$built/src/hw/misc/lyra"
    for file in "$hw"/glue/*; do
        cmp -s "$file" "$built/src/hw/misc/lyra/${file##*/}" || cp "$file" "$built/src/hw/misc/lyra/"
    done
    cmp -s "$hw/include/lyra.h" "$built/lyra/include/lyra.h" || cp "$hw/include/lyra.h" "$built/lyra/include/"
)

configure_qemu() (
    set -e
    mkdir -p "$built/build"
    cd "$built/build"
    cc_command=cc
    if command -v ccache >/dev/null; then
        cc_command="ccache cc"
    fi
    # The system's Python, which has the venv module, not one that comes first in PATH.
    PKG_CONFIG_PATH=$built/lyra "$built/src/configure" --python=/usr/bin/python3 --prefix="$cache/qemu" --cc="$cc_command" \
        --target-list=x86_64-softmmu --with-devices-x86_64=lyra \
        --without-default-features --without-default-devices --disable-user --disable-werror \
        --enable-system --enable-tcg --enable-kvm --enable-virtfs --enable-attr --enable-cap-ng --enable-fdt \
        --enable-trace-backends=log --disable-debug-info --disable-install-blobs
)

compile() (
    set -e
    ninja -C "$built/build" -j "$jobs" qemu-system-x86_64
    # configure makes these only where a 32-bit C library is installed; they need none.
    roms=$built/build/pc-bios/optionrom
    printf 'TOPSRC_DIR=%s\nCC=cc\nCCAS=cc\nLD=ld\nOBJCOPY=objcopy\n' "$built/src" >"$roms/config.mak"
    make -C "$roms" all
)

# Only the program and the firmware that a q35 board with `-kernel` needs. QEMU looks in ../share/qemu from its own folder.
install_qemu() (
    set -e
    mkdir -p "$work/out/bin" "$work/out/share/qemu"
    strip -o "$work/out/bin/qemu-system-x86_64" "$built/build/qemu-system-x86_64"
    cp /usr/share/seabios/bios-256k.bin "$work/out/share/qemu/"
    for rom in linuxboot_dma kvmvapic pvh; do
        cp "$built/build/pc-bios/optionrom/$rom.bin" "$work/out/share/qemu/"
    done
)

tree=$(cat "$here/build_qemu.sh" "$hw"/patches/* ${source:+"$source"} | sha256sum)
if [ "$(cat "$built/tree" 2>/dev/null)" != "$tree" ]; then
    rm -f "$built/tree"
    if [ -n "$source" ] || ! ls "$built"/package/qemu_*.dsc >/dev/null 2>&1; then
        step "fetch QEMU's source" fetch_source
    fi
    step "unpack" unpack
    step "add the device" add_glue
    step "make the link library" link_library
    step "configure" configure_qemu
    echo "$tree" >"$built/tree"
else
    step "add the device" add_glue
    step "make the link library" link_library
fi
step "compile (about 3 minutes on 2 processors)" compile
step "install" install_qemu
publish 4
