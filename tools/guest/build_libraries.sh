#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a disk with Debian trixie's rocRAND, its test programs and rocBLAS, for `lyra test`, and prints its folder.
#
#   build_libraries.sh [--cache DIR] [--chip gfx900|gfx90a] [--print]
#
#   --chip CHIP   whose kernels of rocBLAS (default: gfx900)
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/libraries-CHIP-HASH with libraries.erofs and VERSIONS; HASH covers this script. The packages depend on
# nothing that the guest's root file system lacks. Their files are as they were, but rocBLAS's kernels for other chips are left
# out: they are files of their own, 1.5 GB of them. 210 MB to fetch, 0.8 GB on disk.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
chip=gfx900
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --chip) chip=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_libraries.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

case $chip in
gfx900) kernels=Kernels.so-000-gfx900.hsaco ;;
gfx90a) kernels=Kernels.so-000-gfx90a-xnack-.hsaco ;;
*) echo "build_libraries.sh: rocBLAS has no kernels for chip $chip" >&2 && exit 2 ;;
esac
artefact "libraries-$chip" "$(hash_of "$here/build_libraries.sh")" libraries.erofs

fetch() {
    mkdir -p "$work/apt" "$work/debs"
    . "$here/apt_private.sh"
    apt_sources deb trixie main >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/debs"
    apt-get download -q librocrand1 librocrand1-tests librocblas0
}

# Kernels.so-000-gfx906.hsaco, TensileLibrary_gfx1030.co and the like go; the chip's and the index of all stay.
unpack() {
    mkdir "$work/tree" "$work/out"
    for deb in "$work"/debs/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work/tree" --no-same-owner --exclude='./usr/share'; done
    library=rocblas/2.47.0/library
    find "$work/tree/usr/lib/x86_64-linux-gnu/$library" -name '*gfx*' ! -name "*$chip*" -delete
    for file in librocrand.so.1 librocblas.so.0 $library/TensileLibrary.dat $library/TensileLibrary_$chip.co $library/$kernels; do
        [ -f "$work/tree/usr/lib/x86_64-linux-gnu/$file" ] || { echo "the packages lack $file"; exit 1; }
    done
    [ -x "$work/tree/usr/libexec/rocm/librocrand1-tests/test_rocrand_linkage" ]
}

make_disk() {
    mkfs.erofs --all-root -T0 -x-1 --quiet "$work/out/libraries.erofs" "$work/tree"
    (cd "$work/debs" && ls ./*.deb | sed 's,^./,,') >"$work/out/VERSIONS"
}

step "fetch Debian's rocRAND and rocBLAS (210 MB)" fetch
step "unpack them" unpack
step "make the disk" make_disk
publish 2
