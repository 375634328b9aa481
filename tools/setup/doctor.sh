#!/bin/sh
# SPDX-License-Identifier: MIT
# lyra doctor: what this machine has of what Lyra needs, and the remedy for what is wrong. ./lyra runs it directly, without a
# build, so that it can tell of a machine that has no compiler yet.
#
#   doctor.sh [--json]
#
# A line for each check: ok, note (Lyra works, but something is not as it could be) or WRONG. Exit status 1 when something is
# wrong.
#
# Environment, for tests: LYRA_OS_RELEASE and LYRA_APT_ETC (see packages.sh and tools/guest/apt_private.sh), LYRA_KVM
# (/dev/kvm), LYRA_CPUINFO (/proc/cpuinfo)
set -eu

setup=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$setup/../.." && pwd)
guest=$source/tools/guest
cache=${LYRA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lyra}
. "$setup/packages.sh"
. "$setup/cache.sh"
. "$guest/apt_private.sh"
json=no
for word; do
    case $word in
    --json) json=yes ;;
    -q | --quiet | -v | --verbose) ;;
    -h | --help)
        echo "usage: lyra doctor [--json]"
        echo "Says what this machine has of what Lyra needs, and the remedy for what is wrong (exit status 1)."
        exit 0
        ;;
    *) echo "lyra: doctor: unknown argument $word (--json)" >&2 && exit 2 ;;
    esac
done
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
: >"$work/facts"

# check STATE NAME TEXT [REMEDY]: one row. STATE is ok, note or wrong.
check() {
    for word in "$1" "$2" "$3" "${4-}"; do
        printf '%s\t' "$(printf %s "$word" | tr '\t\n' '  ')"
    done | sed 's/\t$/\n/' >>"$work/checks"
}
# fact PATH VALUE: for --json only; VALUE is JSON.
fact() {
    printf '%s\t%s\n' "$1" "$2" >>"$work/facts"
}
quote() { # as JSON
    printf '"%s"' "$(printf %s "$1" | tr '\t\n' '  ' | tr -d '\001-\037' | sed 's/[\\"]/\\&/g')"
}
quote_list() { # WORDS as JSON
    for word; do quote "$word"; done | sed 's/""/","/g; s/.*/[&]/'
    [ $# != 0 ] || printf '[]'
}

check_system() {
    # shellcheck disable=SC1090,SC2031
    name=$(. "${LYRA_OS_RELEASE:-/etc/os-release}" 2>/dev/null && echo "$PRETTY_NAME") || name="unknown system"
    text="$name, $(uname -m), Linux $(uname -r)"
    fact host.system "$(quote "$name")"
    fact host.machine "$(quote "$(uname -m)")"
    fact host.kernel "$(quote "$(uname -r)")"
    if [ "$(uname -m)" != x86_64 ]; then
        check wrong system "$text" "Lyra's guests need a host of x86_64"
        return
    fi
    case $(host_release) in
    debian-12 | debian-13) check ok system "$text" ;;
    *) check note system "$text" "Lyra is tested on Debian 12 and 13 only" ;;
    esac
}

check_compiler() {
    if ! command -v g++ >/dev/null; then
        state=wrong
        [ "$(installer)" = none ] || state=note
        check $state compiler "there is no g++ yet" "$(remedy_for run g++)"
        fact host.compiler null
        return
    fi
    text="g++ $(g++ -dumpfullversion), $(cmake --version 2>/dev/null | sed -n 's/ version//p')"
    text="$text, ninja $(ninja --version 2>/dev/null)"
    fact host.compiler "$(quote "$text")"
    printf '#include <compare>\n#include <span>\nint main() {}\n' >"$work/a.cpp"
    if g++ -std=c++20 -o "$work/a" "$work/a.cpp" 2>"$work/err" && "$work/a"; then
        check ok compiler "$text"
    else
        check wrong compiler "$text: cannot compile C++20: $(head -n 1 "$work/err")" \
            "install g++ 11 or newer with its library (package g++)"
    fi
}

# How packages that a verb lacks get here.
remedy_for() { # VERB PACKAGES
    if installed; then
        echo "as root: $apt_get $2"
        return
    fi
    case $(installer):$(host_release) in
    root:*) echo "./lyra $1 installs what it lacks" ;;
    sudo:*) echo "./lyra $1 installs what it lacks by sudo" ;;
    none:debian* | none:ubuntu*) echo "as root: $apt_get $2" ;;
    *) echo "install them; these are Debian's names, yours may have others" ;;
    esac
}

check_processors() {
    fact host.processors "$(nproc)"
    check ok processors "$(nproc)"
}

# In a container the smaller of the machine's memory and the container's limit.
check_memory() {
    total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
    free=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
    case $limit in
    max | *[!0-9]*) ;;
    *) [ $((limit / 1024)) -ge "$total" ] || total=$((limit / 1024)) ;;
    esac
    fact host.memory_kb "$total"
    fact host.available_kb "$free"
    text="$(human_size "$total"), $(human_size "$free") available"
    if [ "$total" -lt 3000000 ]; then
        check wrong memory "$text" \
            "a guest has 4 GB and the GPU 2 GB by default: give --mem 2G --vram 512M, and compile with LYRA_JOBS=1"
    elif [ "$total" -lt 7000000 ]; then
        check note memory "$text" "a guest has 4 GB and the GPU 2 GB by default, when a program uses them: --mem and --vram"
    else
        check ok memory "$text"
    fi
}

# The folder that is there already, of the cache's path.
check_disk() {
    folder=$cache
    while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
    free=$(df -Pk "$folder" | awk 'NR == 2 { print $4 }')
    fact cache.free_kb "$free"
    need=4000000
    elsewhere="choose another folder: LYRA_CACHE=DIR ./lyra ..."
    [ -z "$made" ] || need=1000000
    text="$(human_size "$free") free for $cache"
    if ! probe=$(mktemp "$folder/.lyra-doctor.XXXXXX" 2>/dev/null); then
        check wrong disk "$folder cannot be written" "$elsewhere"
    elif [ "$free" -lt $need ]; then
        check wrong disk "$text; at least $(human_size $need) are needed" "./lyra clean, or $elsewhere"
    else
        printf '#!/bin/sh\n' >"$probe"
        chmod +x "$probe"
        if "$probe" 2>/dev/null; then
            check ok disk "$text"
        else
            check wrong disk "programs in $folder cannot be run (mounted with noexec?)" "$elsewhere"
        fi
    fi
    rm -f "$probe"
}

# Sets why, empty when KVM can be used, and remedy.
try_kvm() {
    device=${LYRA_KVM:-/dev/kvm} processors=${LYRA_CPUINFO:-/proc/cpuinfo} why='' remedy=''
    if ! [ -e "$device" ]; then
        why="$device does not exist"
        if grep -q -w -E 'vmx|svm' "$processors"; then
            remedy="load the module: modprobe kvm_intel or kvm_amd; in a container pass the device in"
        else
            remedy="the processor shows no virtualisation: switch it on in the firmware, or in the host above"
        fi
    elif ! grep -q -w -E 'vmx|svm' "$processors"; then
        why="$device is there, but the processor has neither VT-x nor AMD-V, so that KVM would emulate each instruction"
        remedy="allow nested virtualisation on the host above"
    elif ! [ -r "$device" ] || ! [ -w "$device" ]; then
        group=$(stat -c %G "$device")
        why="no permission for $device"
        case $group:$(stat -c %A "$device") in
        root:* | *:????[!r]* | *:?????[!w]*) remedy="as root: chgrp kvm $device && chmod 660 $device; then join the group kvm" ;;
        *) remedy="join its group: adduser $(id -un) $group, then log in again" ;;
        esac
    elif ! command -v perl >/dev/null; then
        why="not tried: no perl"
        remedy="install perl"
    else
        # KVM_GET_API_VERSION, KVM_CREATE_VM
        why=$(perl -e '
            open(my $kvm, "+<", $ARGV[0]) or print("$ARGV[0] cannot be opened: $!"), exit;
            my $version = ioctl($kvm, 0xAE00, 0) or print("$ARGV[0] is no KVM device: $!"), exit;
            print("KVM has version ", $version + 0, ", not 12"), exit if $version != 12;
            ioctl($kvm, 0xAE01, 0) or print("KVM makes no virtual machine (KVM_CREATE_VM: $!)");' "$device")
        remedy="look into the log of the host's kernel (dmesg) for kvm"
    fi
}

check_kvm() {
    try_kvm
    if [ -z "$why" ]; then
        fact kvm.usable true
        check ok kvm "can be used (--accel kvm)"
    else
        fact kvm.usable false
        fact kvm.why "$(quote "$why")"
        check note kvm "cannot be used: $why. Guests run under TCG, which is slower" "$remedy"
    fi
}

# Compiling HIP programs wants a mount name space; an ordinary user gets it in a user name space.
check_namespaces() {
    mkdir -p "$work/dev"
    allow="give the container the capability SYS_ADMIN and a seccomp profile that allows mount and unshare"
    if [ "$(id -u)" = 0 ]; then
        # shellcheck disable=SC2016
        if unshare --mount sh -c 'mount --bind /dev "$1"' sh "$work/dev" 2>"$work/err"; then
            check ok namespaces "root can mount"
        elif mknod "$work/dev/null" c 1 3 2>/dev/null && chroot / true 2>/dev/null; then
            check note namespaces "root cannot mount here: $(head -n 1 "$work/err"). HIP programs compile, drivers (--kfd) do not" "$allow"
        else
            check wrong namespaces "root cannot mount here: $(head -n 1 "$work/err")" "$allow"
        fi
        return
    fi
    # shellcheck disable=SC2016
    if unshare --user --map-root-user --mount --pid --fork sh -c 'mount --rbind /dev "$1"' sh "$work/dev" 2>"$work/err"; then
        ours="^\($(id -un)\|$(id -u)\):"
        if ! grep -q -s "$ours" /etc/subuid || ! grep -q -s "$ours" /etc/subgid; then
            check wrong namespaces "$(id -un) has no range of user ids for mmdebstrap" \
                "as root: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
        else
            check ok namespaces "user name spaces"
        fi
    elif [ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null)" = 0 ]; then
        check wrong namespaces "user name spaces are switched off" \
            "as root: sysctl kernel.unprivileged_userns_clone=1, or run Lyra as root"
    elif [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null)" = 0 ]; then
        check wrong namespaces "user name spaces are switched off" \
            "as root: sysctl user.max_user_namespaces=10000, or run Lyra as root"
    elif [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ]; then
        check wrong namespaces "AppArmor restricts user name spaces" \
            "as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run Lyra as root"
    else
        check wrong namespaces "no user name space: $(head -n 1 "$work/err")" \
            "allow unshare in the container, or run Lyra as root"
    fi
}

# Packages that verbs lack. What `run` lacks is wrong when nothing installs it.
check_packages() {
    state=note
    [ "$(installer)" != none ] || state=wrong
    lacks=no
    for verb in exec run guest measure kfdtest bench test; do
        # shellcheck disable=SC2046
        missing=$(missing_packages $(sets_of $verb))
        # shellcheck disable=SC2086
        fact "missing.$verb" "$(quote_list $missing)"
        [ -n "$missing" ] && [ $verb != guest ] || continue # guest has what run has
        lacks=yes
        check $state packages "missing for $verb: $missing" "$(remedy_for $verb "$missing")"
        [ $verb != run ] || state=note
    done
    [ $lacks = yes ] || check ok packages "all there"
}

# Does the archive have the suite? By apt's own means, so that proxies and certificates are those of apt.
fetch_release() { # URI SUITE NUMBER
    timeout 30 /usr/lib/apt/apt-helper -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10 -o Acquire::Retries=0 \
        -o APT::Sandbox::User= download-file "${1%/}/dists/$2/InRelease" "$work/release.$3" >"$work/mirror.$3" 2>&1 || true
}

check_mirrors() {
    if ! [ -x /usr/lib/apt/apt-helper ]; then
        check wrong mirrors "there is no apt" "install: apt, debian-archive-keyring"
        return
    fi
    debian_mirrors | sort -u >"$work/mirrors"
    if ! [ -s "$work/mirrors" ]; then
        check wrong mirrors "no Debian mirror of this system's release in ${LYRA_APT_ETC:-/etc/apt}" \
            "add one to ${LYRA_APT_ETC:-/etc/apt}/sources.list, or name a folder with such a file: LYRA_APT_ETC=DIR"
        return
    fi
    first=$(awk '$1 == "release" { print $2; exit }' "$guest/guests.tsv")
    number=0
    while read -r uri kind _ring; do
        for suite in $(awk '$1 == "release" { print $2 } $1 == "kernel" { print $3 }' "$guest/guests.tsv" | sort -u); do
            case $kind:$suite in
            security:sid | security:*-backports) continue ;;
            security:*) suite=$suite-security ;;
            esac
            number=$((number + 1))
            echo "$uri $suite $number" >>"$work/asked"
            fetch_release "$uri" "$suite" $number &
        done
    done <"$work/mirrors"
    wait
    reached= unreached= state=ok
    while read -r uri suite number; do
        if [ -s "$work/release.$number" ]; then
            reached="$reached $suite"
        else
            unreached="$unreached $uri:$suite"
            case $suite in "$first" | "$first-security") state=wrong ;; *) [ $state = wrong ] || state=note ;; esac
            number_of_error=$number
        fi
    done <"$work/asked"
    # shellcheck disable=SC2086
    fact mirrors.reached "$(quote_list $reached)"
    if [ $state = ok ]; then
        check ok mirrors "$(awk '{ print $1 }' "$work/mirrors" | sort -u | paste -sd ' ' -):$reached"
        return
    fi
    [ $state = note ] || [ -z "$made" ] || state=note # nothing has to be fetched
    check $state mirrors "not reached:$unreached$([ -z "$made" ] || echo "; what the default guest needs is in the cache")" \
        "$(sed -n 's/^[EW]: *//p' "$work/mirror.$number_of_error" | tail -n 1); look at network, proxy (apt.conf) and \
${LYRA_APT_ETC:-/etc/apt}"
}

# Versions that a guest would have by default; those of the image when it is made.
check_guest() {
    release=$(awk '$1 == "release" { print $2; exit }' "$guest/guests.tsv")
    kernel=$(awk '$1 == "kernel" { print $2; exit }' "$guest/guests.tsv")
    rocm=$(awk '$1 == "release" { print $3; exit }' "$guest/guests.tsv")
    qemu_version=$(sed -n 's/^qemu=//p' "$guest/build_qemu.sh")
    image_text='not made yet' qemu_text='not built yet'
    image=$("$guest/build_image.sh" --cache "$cache" --print 2>/dev/null) && {
        kernel=$(sed -n 's/^linux-image-[^_]*_\([^_]*\)_.*/\1/p' "$image/VERSIONS" | head -n 1)
        hip=$(sed -n 's/^libamdhip64-[0-9]* //p' "$image/VERSIONS")
        rocm=$rocm${hip:+" (HIP $hip)"}
        image_text=made
    }
    qemu=$("$guest/build_qemu.sh" --cache "$cache" --print 2>/dev/null) && {
        qemu_text=built
        # It starts only with a liblyra, which a build folder has when the program is built.
        for library in "$cache"/build-*/qemu-hw/soc/liblyra.so.1; do
            [ -e "$library" ] || continue
            says=$(LD_LIBRARY_PATH=${library%/*} "$qemu/bin/qemu-system-x86_64" --version 2>/dev/null) || continue
            qemu_version=$(echo "$says" | sed -n 's/^QEMU emulator version //p')
            break
        done
    }
    fact guest.release "$(quote "$release")"
    fact guest.kernel "$(quote "$kernel")"
    fact guest.rocm "$(quote "$rocm")"
    fact guest.qemu "$(quote "$qemu_version")"
    fact guest.image_made "$([ "$image_text" = made ] && echo true || echo false)"
    fact guest.qemu_built "$([ "$qemu_text" = built ] && echo true || echo false)"
    check ok guest "Debian $release with kernel $kernel, ROCm $rocm ($image_text); QEMU $qemu_version ($qemu_text)"
}

check_cache() {
    fact cache.folder "$(quote "$cache")"
    cache_entries >"$work/entries"
    total=$(awk -F '\t' '{ sum += $2 } END { print sum + 0 }' "$work/entries")
    stale=$(awk -F '\t' '$1 == "stale" || $1 == "leftover" || $1 == "log" { sum += $2 } END { print sum + 0 }' "$work/entries")
    fact cache.kb "$total"
    fact cache.stale_kb "$stale"
    comma=
    entries=$(while IFS=$tab read -r state size name why; do
        case $name in *.lock | *.recipe) continue ;; esac
        printf '%s{"name":%s,"kb":%s,"state":"%s","why":%s}' "$comma" "$(quote "$name")" "$size" "$state" "$(quote "$why")"
        comma=,
    done <"$work/entries")
    fact cache.entries "[$entries]"
    if [ "$total" = 0 ]; then
        check ok cache "empty"
        return
    fi
    text="$(human_size "$total"): $(awk -F '\t' '
        { sub(/-.*/, "", $3); size[$3] += $2 }
        END { for (kind in size) print size[kind], kind }' "$work/entries" | sort -nr | while read -r size kind; do
        [ "$size" -lt 1024 ] || printf '%s %s, ' "$kind" "$(human_size "$size")"
    done | sed 's/, $//')"
    if [ "$stale" = 0 ]; then
        check ok cache "$text"
    else
        check note cache "$text" "$(human_size "$stale") of it is stale: ./lyra clean"
    fi
}

print_text() {
    while IFS=$tab read -r state name text remedy; do
        [ "$state" != wrong ] || state=WRONG
        printf '%-6s %-11s %s\n' "$state" "$name" "$text"
        [ -z "$remedy" ] || printf '%-6s %-11s -> %s\n' '' '' "$remedy"
    done <"$work/checks"
}

# {"ok": ..., "checks": [...], then the facts by their first word}
print_json() {
    printf '{"ok":%s,"checks":[' "$1"
    comma=
    while IFS=$tab read -r state name text remedy; do
        printf '%s{"name":"%s","state":"%s"' "$comma" "$name" "$state"
        printf ',"text":%s,"remedy":%s}' "$(quote "$text")" "$(quote "$remedy")"
        comma=,
    done <"$work/checks"
    printf ']'
    for group in $(cut -d . -f 1 "$work/facts" | awk '!seen[$0]++'); do
        printf ',"%s":{%s}' "$group" "$(sed -n "s/^$group\.\([a-z_]*\)$tab\(.*\)/\"\1\":\2/p" "$work/facts" | paste -sd , -)"
    done
    printf '}\n'
}

tab=$(printf '\t')
# Is everything made that the default guest needs?
made=
if "$guest/build_qemu.sh" --cache "$cache" --print >/dev/null 2>&1 &&
    "$guest/build_image.sh" --cache "$cache" --print >/dev/null 2>&1; then
    made=yes
fi
check_system
installed || check_compiler
check_processors
check_memory
check_disk
check_kvm
check_namespaces
check_packages
check_mirrors
check_guest
check_cache
if grep -q "^wrong$tab" "$work/checks"; then good=false; else good=true; fi
if [ $json = yes ]; then print_json $good; else print_text; fi
[ $good = true ]
