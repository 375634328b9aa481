# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# To be sourced: runs a command in a root file system of the cache.

# in_root ROOT COMMAND ARGUMENTS...: with /dev and /proc, $bind at /mnt when it is set, and each line of $binds, a folder, at
# the same place. The mounts end with the command.
# root gets them in a mount name space, others in a user name space. A container may forbid both; there, root has /dev/null
# alone and no /proc, which is enough for a compiler.
in_root() (
    root=$1
    shift
    # shellcheck disable=SC2016
    enter='mount --$how /dev "$root/dev" && mount -t proc proc "$root/proc" &&
        { [ -z "$bind" ] || mount --bind "$bind" "$root/mnt"; } &&
        printf "%s" "${binds:+$binds
}" | while read -r place; do mkdir -p "$root$place" && mount --bind "$place" "$root$place" || exit 1; done &&
        exec chroot "$root" "$@"'
    export root bind="${bind-}" binds="${binds-}"
    if [ "$(id -u)" != 0 ]; then
        how=rbind unshare --user --map-root-user --mount --pid --fork sh -c "$enter" sh "$@"
    elif unshare --mount true 2>/dev/null; then
        how=bind unshare --mount sh -c "$enter" sh "$@"
    elif [ -z "$bind$binds" ] && { [ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3; }; then
        chroot "$root" "$@"
    else
        echo "this container has to allow mounts: give it the capability SYS_ADMIN" >&2
        exit 1
    fi
)
