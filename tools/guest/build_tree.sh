#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a kernel tree for the guest, whole and outside of the tree, and prints a folder.
#
#   build_tree.sh [--cache DIR] [--debug A,B,...] [--print] TREE
#
#   TREE          a kernel's source tree, 6.1 or later; nothing in it is changed
#   --debug LIST  lockdep, kasan, kcsan, kmemleak, kcov: kernel/NAME.config beside kernel/guest.config
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/tree-HASH; HASH covers TREE's place and the list. In it: build (make's O=), kernel (as a Debian package of a
# kernel, unpacked: build_image.sh --kernel-files), uapi (the headers for programs), id (names the content) and VERSIONS. The
# first time takes some fifteen minutes on two cores; later only what has changed is compiled. Exit status 2: TREE cannot be
# built, which is for its owner to put right.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/artefact.sh"
. "$here/in_root.sh"
debug= tree=
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --debug) debug=$2 && shift ;;
    --print) print_only=yes ;;
    -*) echo "build_tree.sh: unknown argument $1" >&2 && exit 2 ;;
    *) tree=$1 ;;
    esac
    shift
done
refuse() { echo "build_tree.sh: $*" >&2 && exit 2; }
[ -f "$tree/Kbuild" ] && [ -f "$tree/Kconfig" ] && [ -d "$tree/drivers/gpu/drm/amd/amdkfd" ] ||
    refuse "'$tree' is not a kernel's source tree with drivers/gpu/drm/amd/amdkfd in it"
tree=$(realpath "$tree")
case $tree in *[[:space:]:]*) refuse "kbuild takes no space and no colon in a path: $tree" ;; esac
debug=$(printf '%s\n' "$debug" | tr , '\n' | sed '/^$/d' | LC_ALL=C sort -u | paste -sd,)
case ,$debug, in *,kasan,*) case ,$debug, in *,kcsan,*) refuse "--debug: KASAN and KCSAN exclude each other" ;; esac ;; esac
parts=guest
for name in $(echo "$debug" | tr , ' '); do
    [ "$name" != guest ] && [ -f "$here/kernel/$name.config" ] || refuse "--debug: there is no $name"
    parts="$parts $name"
done
# What an earlier build in the tree has left would be taken for that of this one.
for left in .config include/config arch/x86/include/generated; do
    [ ! -e "$tree/$left" ] || refuse "$tree was built in place: run 'make mrproper' there"
done

kind=tree
out=$cache/tree-$(echo "$tree $debug" | hash_of)
if [ "$print_only" = yes ]; then
    echo "$out"
    [ -f "$out/id" ] && exit 0 || exit 1
fi
compiler=$("$here/build_compiler.sh" --cache "$cache")
build=$out/build
mkdir -p "$build"
exec 9>"$out/lock"
flock 9
work=$(mktemp -d "$cache/.tree.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
log=$work/log
printf '%s\n' "$recipe" >"$out.recipe"

# Tree and objects are where they are outside: debug information and gdb's scripts name them.
make_in_root() {
    binds="$tree
$out
$work" in_root "$compiler" env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 \
        KBUILD_BUILD_USER=lyra KBUILD_BUILD_HOST=lyra \
        KCONFIG_ALLCONFIG="$build/lyra.config" make -C "$tree" O="$build" ARCH=x86_64 "-j$(nproc)" "$@" </dev/null
}

# Writes .config only when it differs.
configure() (
    set -e
    for part in $parts; do cat "$here/kernel/$part.config"; done >"$build/lyra.config"
    make_in_root -s allnoconfig
)

# Prints what the configuration was to have and has not.
missing() { # PARTS...
    for part; do sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=[ym]$/\1/p' "$here/kernel/$part.config"; done | while read -r symbol; do
        grep -q "^$symbol=" "$build/.config" || echo "${symbol#CONFIG_}"
    done | paste -sd ' '
}

compile() { make_in_root all; }

install_kernel() (
    set -e
    make_in_root -s INSTALL_MOD_PATH="$work/kernel/usr" INSTALL_MOD_STRIP=1 modules_install
    make_in_root -s INSTALL_HDR_PATH="$work/uapi" headers_install
    version=$(cat "$build/include/config/kernel.release")
    modules=$work/kernel/usr/lib/modules/$version
    rm -f "$modules/build" "$modules/source"
    cp "$build/arch/x86/boot/bzImage" "$modules/vmlinuz"
    rm -rf "$out/kernel" "$out/uapi" "$out/id"
    mv "$work/kernel" "$work/uapi" "$out/"
    echo "linux-tree_$version" >"$out/VERSIONS"
    (cd "$out/kernel" && find . -type f | LC_ALL=C sort | xargs sha256sum) | hash_of >"$work/id"
    mv "$work/id" "$out/id"
)

step "configure $tree" configure
for part in $parts; do
    absent=$(missing "$part")
    [ -z "$absent" ] || [ "$part" = guest ] || refuse "--debug $part: this kernel has no $absent"
    [ -z "$absent" ] || echo "tree: not in this kernel: $absent" >&2
done
before=$(cat "$out/id" 2>/dev/null || true)
(step "compile $tree (the first time some fifteen minutes)" compile) || refuse "$tree does not compile"
step "install" install_kernel
[ "$before" = "$(cat "$out/id")" ] || echo "tree: the kernel has changed" >&2
touch "$out"
# shellcheck disable=SC2010,SC2012
ls -dt "$cache"/tree-???????????? | tail -n +4 | sed 'p; s/$/.recipe/' | xargs -r rm -rf
echo "$out"
