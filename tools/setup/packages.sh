# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # who reads it sets setup
# To be sourced, with $setup the folder of this file: what a verb needs on the host, what of it is missing, and its
# installation.
#
# Environment, for tests: LYRA_OS_RELEASE  file that says which distribution this is (default: /etc/os-release)

# Was the program installed as a package? It brings itself and QEMU along, and apt is the user's.
installed() { [ -e "$setup/../../qemu/bin/qemu-system-x86_64" ]; }

# The sets of packages.tsv that a command line needs: sets_of VERB WORDS...
sets_of() {
    case ${1-} in
    run | guest) _sets="build qemu guest" ;;
    measure) _sets="build qemu guest kfd" ;;
    kfdtest) _sets="build qemu guest kfdtest" ;;
    bench) _sets="build opencl" ;;
    test) _sets="build qemu guest kfd kfdtest opencl test" ;;
    doctor | clean) _sets= ;;
    *) _sets=build ;; # what runs in one process
    esac
    case $_sets in
    *guest*)
        for _word; do
            case $_word in
            --kfd | --kfd=*) _sets="$_sets kfd" ;;
            esac
        done
        [ "$(id -u)" = 0 ] || _sets="$_sets user"
        ;;
    esac
    if installed; then # the tests are in the source tree
        [ "${1-}" != test ] || _sets=
        _sets=$(echo " $_sets " | sed 's/ build / /; s/ qemu / /; s/^ *//; s/ *$//')
    fi
    echo "$_sets"
}

# VERB of a command line: its first word that is no option.
verb_of() {
    for _word; do
        case $_word in
        -*) ;;
        *) echo "$_word" && return ;;
        esac
    done
}

# ID-VERSION of the distribution, such as debian-12; without -VERSION where it has none.
host_release() (
    file=${LYRA_OS_RELEASE:-/etc/os-release}
    ID=unknown VERSION_ID=
    # shellcheck disable=SC1090
    [ ! -f "$file" ] || . "$file"
    echo "$ID${VERSION_ID:+-$VERSION_ID}"
)

# Rows of these sets, as CHECK and the name of the package here.
rows_of() {
    awk -F '\t' -v sets=" $* " -v host="$(host_release)" '
        /^#/ || !index(sets, " " $1 " ") { next }
        {
            name = $3; n = split($4, others, ",")
            # a Debian without a number is newer than the last one
            for (i = 1; i <= n; i++) {
                split(others[i], other, "=")
                if (other[1] == host || (host == "debian" && other[1] == "debian-13")) name = other[2]
            }
            print $2, name
        }' "$setup/packages.tsv"
}

is_there() { # CHECK
    _rest=$1,
    while [ -n "$_rest" ]; do
        _one=${_rest%%,*} _rest=${_rest#*,}
        case $_one in
        /*) for _file in $_one; do [ ! -e "$_file" ] || return 0; done ;;
        *.pc) pkg-config --exists "${_one%.pc}" 2>/dev/null && return 0 ;;
        *) command -v "$_one" >/dev/null && return 0 ;;
        esac
    done
    return 1
}

# Packages of these sets that are missing, in one line.
missing_packages() {
    rows_of "$@" | sort -u -k 2 | while read -r _check _package; do
        is_there "$_check" || printf '%s ' "$_package"
    done | sed 's/ $//'
}

# The same, but for people: a line for each with what was looked for.
explain_missing() {
    rows_of "$@" | sort -u -k 2 | while read -r _check _package; do
        is_there "$_check" && continue
        case $_check in
        /*) echo "    $_package: no file $_check" ;;
        *.pc) echo "    $_package: pkg-config knows no module ${_check%.pc}" ;;
        *) echo "    $_package: no command $_check" ;;
        esac
    done
}

apt_get='apt-get install --no-install-recommends'

# How packages get installed here: apt (as root or by sudo), or by the user, who is told.
installer() {
    case $(host_release) in
    debian*) ;;
    *) echo none && return ;;
    esac
    if ! command -v apt-get >/dev/null; then
        echo none
    elif [ "$(id -u)" = 0 ]; then
        echo root
    elif command -v sudo >/dev/null; then
        echo sudo
    else
        echo none
    fi
}

# install_packages SETS...: exit status 1, with words on standard error, when something is missing and stays so.
install_packages() {
    _missing=$(missing_packages "$@")
    [ -n "$_missing" ] || return 0
    case $(installer) in
    root) _sudo= ;;
    sudo) _sudo=sudo ;;
    none)
        {
            echo "lyra: this is missing:"
            explain_missing "$@"
            case $(host_release) in
            debian*) echo "lyra: there is no sudo; as root: $apt_get $_missing" ;;
            ubuntu*) echo "lyra: packages are installed on Debian only; here: sudo $apt_get $_missing" ;;
            *) echo "lyra: packages are installed on Debian only; the names are Debian's, yours may have others" ;;
            esac
        } >&2
        return 1
        ;;
    esac
    echo "lyra: install Debian packages: $_missing" >&2
    $_sudo apt-get update -q >&2 || echo "lyra: apt-get update failed, trying with what is known" >&2
    # shellcheck disable=SC2086
    if ! $_sudo env DEBIAN_FRONTEND=noninteractive $apt_get -q -y -o DPkg::Lock::Timeout=300 $_missing >&2; then
        echo "lyra: could not install the packages; install them by hand and try again" >&2
        return 1
    fi
    [ -z "$(missing_packages "$@")" ] && return 0
    {
        echo "lyra: this is missing although its package is installed:"
        explain_missing "$@"
    } >&2
    return 1
}
