# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2001 # who reads it sets here, cache, work
# To be sourced after artefact.sh: compiles amdgpu with Debian's compiler and headers of a guest's kernel.

amd=drivers/gpu/drm/amd
. "$here/in_root.sh"

# kbuild_kernel NAME: finds out which package the guest boots; its image chooses the version. Sets $deb, $release, $upload and
# $kbuild, the folder with compiler, headers and source.
kbuild_kernel() {
    kernel=$1
    # A kernel of backports needs the rest of the release, too.
    suites=$(awk -v name="$kernel" '$1 == "kernel" && $2 == name { print $3 }' "$here/guests.tsv")
    case $suites in *-backports) suites="${suites%-backports} $suites" ;; esac
    image=$("$here/build_image.sh" --cache "$cache" --kernel "$kernel")
    deb=$(sed -n '/^linux-image-/p' "$image/VERSIONS")
    release=$(echo "$deb" | sed 's/^linux-image-\([^_]*\)_.*/\1/')
    upload=$(echo "$deb" | sed 's/^[^_]*_\([^_]*\)_.*/\1/')
    kbuild=$cache/kbuild-$release
    kernel_source=$kbuild/usr/src/linux-$kernel
}

# kbuild_install: compiler and headers of exactly this kernel (symbol versions are checked at load), and of its source what is
# patched or needed to check patches. The headers are unpacked, not installed: they depend on the kernel and on what makes its
# initramfs.
kbuild_install() (
    set -e
    . "$here/apt_private.sh"
    mkdir -p "$work/apt" "$work/debs" "$work/kbuild"
    for suite in $suites; do apt_sources deb "$suite" main; done >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/debs"
    flavour=${release##*-}
    apt-get download -q "linux-source-$kernel=$upload" "linux-headers-$release=$upload" \
        "linux-headers-${release%"-$flavour"}-common=$upload" "linux-kbuild-${release%"-$flavour"}=$upload"
    unset APT_CONFIG
    # The compiler has to be the one that the kernel was built with only in its major version. pahole is for BTF, which is off.
    compiler=$(dpkg-deb -f linux-headers-"$release"_*.deb Depends | grep -o 'gcc-[0-9]*' | head -n 1)
    libraries=$(dpkg-deb -f linux-kbuild-*.deb Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//; /^pahole$/d' | paste -sd ,)
    mmdebstrap --variant=essential --include="$compiler,make,$libraries" --format=tar \
        --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        "${suites%% *}" "$work/root.tar" "$work/apt/sources.list" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
    tar -x -f "$work/root.tar" -C "$work/kbuild" --no-same-owner --exclude='./dev/*'
    chmod -R u+rwX "$work/kbuild"
    for package in linux-headers-*.deb linux-kbuild-*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/kbuild" --keep-directory-symlink
    done
    mkdir -p "$work/kbuild/usr/src/linux-$kernel"
    cd "$work/kbuild/usr/src/linux-$kernel"
    dpkg-deb --fsys-tarfile "$work"/debs/linux-source-*.deb | tar -x -O --wildcards '*.tar.xz' |
        tar -x -J --strip-components=1 --wildcards --no-wildcards-match-slash '*/drivers/gpu/drm/amd' \
            '*/drivers/gpu/drm/Makefile' '*/Documentation/gpu/amdgpu' '*/Documentation/ABI/testing' '*/MAINTAINERS' \
            '*/LICENSES' \
            '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch'
    rm -rf "$kbuild"
    mv "$work/kbuild" "$kbuild"
    # shellcheck disable=SC2012
    ls -dt "$cache"/kbuild-* | tail -n +4 | xargs -r rm -rf
)

# kbuild_ready: installs it unless it is there.
kbuild_ready() {
    if ! [ -f "$kernel_source/scripts/checkpatch.pl" ]; then
        step "install compiler, headers and source of kernel $release (a minute or two, 1.5 GB)" kbuild_install
    fi
}

# kbuild_take SOURCE TREE: brings TREE up to date with SOURCE, a folder drivers/gpu/drm/amd. Only files that differ change, so
# that only they are compiled again.
kbuild_take() (
    set -e
    mkdir -p "$2/include/trace" "$2/$amd"
    rsync -r --checksum --delete --exclude='*.o' --exclude='*.cmd' --exclude='*.ko' --exclude='*.mod*' \
        --exclude='modules.order' --exclude='Module.symvers' --exclude='.git' "$1/" "$2/$amd/"
)

# kbuild_compile TREE: amdgpu.ko in TREE. Without display: an empty value in make leaves its objects out, the header its code;
# -U would come before autoconf.h.
kbuild_compile() (
    set -e
    cat >"$work/no_dc.h" <<'EOF'
#undef CONFIG_DRM_AMD_DC
#undef CONFIG_DRM_AMD_DC_FP
#undef CONFIG_DRM_AMD_DC_SI
EOF
    cmp -s "$work/no_dc.h" "$1/no_dc.h" || cp "$work/no_dc.h" "$1/no_dc.h" # every object depends on it
    bind=$1 in_root "$kbuild" env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 \
        make -C "/usr/src/linux-headers-$release" "M=/mnt/$amd/amdgpu" CONFIG_DRM_AMD_DC= CONFIG_DRM_AMD_DC_FP= \
        CONFIG_DRM_AMD_DC_SI= CONFIG_DEBUG_INFO_BTF_MODULES= "KCFLAGS=-I/mnt/include/trace -include /mnt/no_dc.h" \
        "-j$(nproc)" modules
)
