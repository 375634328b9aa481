# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# To be sourced: a private apt directory, for Debian releases and sources that the machine's own apt does not list.
# The mirrors are those of the machine's own configuration; /etc is read only.

# Prints "URI KIND KEYRING" for each Debian archive that the machine uses; KIND is main or security.
debian_mirrors() {
    _code=$(. /etc/os-release && echo "$VERSION_CODENAME")
    _etc=${LYRA_APT_ETC:-/etc/apt}
    for _file in "$_etc"/sources.list "$_etc"/sources.list.d/*.list; do
        [ -f "$_file" ] && sed 's/#.*//' "$_file" && echo
    done | awk -v code="$_code" '
        $1 == "deb" {
            ring = ""; i = 2
            if ($i ~ /^\[/) {
                opts = ""
                for (; i <= NF; i++) { opts = opts " " $i; if ($i ~ /\]$/) break }
                i++
                if (match(opts, /signed-by=[^] ]*/)) ring = substr(opts, RSTART + 10, RLENGTH - 10)
            }
            if ($0 ~ / main( |$)/) show($i, $(i + 1), ring)
        }
        function show(uri, suite, ring) {
            # A third party may name its suite like the release, but not sign with a Debian key ring.
            gsub(/ /, "", ring)
            if (ring ~ /^\// && ring !~ /debian/) return
            if (ring !~ /^\//) ring = "/usr/share/keyrings/debian-archive-keyring.gpg"
            if (suite == code || suite == "stable" || suite == "oldstable") print uri, "main", ring
            if (suite ~ "^(" code "|stable|oldstable)(-security|/updates)$") print uri, "security", ring
        }'
    for _file in "$_etc"/sources.list.d/*.sources; do
        [ -f "$_file" ] && cat "$_file" && echo
    done | awk -v code="$_code" '
        function flush(    u, s, n, m, i, j, uris, suites) {
            if (tolower(v["enabled"]) != "no" && v["types"] ~ /(^| )deb( |$)/ && v["components"] ~ /(^| )main( |$)/) {
                n = split(v["uris"], uris, " "); m = split(v["suites"], suites, " ")
                for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) show(uris[i], suites[j], v["signed-by"])
            }
            delete v; key = ""
        }
        function show(uri, suite, ring) {
            # A third party may name its suite like the release, but not sign with a Debian key ring.
            gsub(/ /, "", ring)
            if (ring ~ /^\// && ring !~ /debian/) return
            if (ring !~ /^\//) ring = "/usr/share/keyrings/debian-archive-keyring.gpg"
            if (suite == code || suite == "stable" || suite == "oldstable") print uri, "main", ring
            if (suite ~ "^(" code "|stable|oldstable)(-security|/updates)$") print uri, "security", ring
        }
        /^#/ { next }
        /^[ \t]*$/ { flush(); next }
        /^[ \t]/ { sub(/^[ \t]+/, " "); v[key] = v[key] $0; next }
        { key = tolower(substr($0, 1, index($0, ":") - 1)); v[key] = substr($0, index($0, ":") + 1); sub(/^[ \t]+/, "", v[key]) }
        END { flush() }'
}

# apt_sources TYPE SUITE COMPONENTS...: lines for a sources.list of that suite. sid and backports have no security suite, and
# sid's Release file may be past its date.
apt_sources() {
    _type=$1 _release=$2
    shift 2
    debian_mirrors | sort -u | while read -r _uri _kind _ring; do
        _options=signed-by=$_ring _suite=$_release
        case $_release:$_kind in
        sid:security | *-backports:security) continue ;;
        sid:*) _options="$_options check-valid-until=no" ;;
        *:security) _suite=$_release-security ;;
        esac
        echo "$_type [$_options] $_uri $_suite $*"
    done
}

# apt_private DIR: makes a private apt directory around DIR/sources.list, exports APT_CONFIG and fetches the lists.
apt_private() {
    if ! [ -s "$1/sources.list" ]; then
        echo "no Debian mirror found in /etc/apt/sources.list or /etc/apt/sources.list.d" >&2
        return 1
    fi
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    : >"$1/status"
    cat >"$1/apt.conf" <<EOF
Dir::State "$1";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "-";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
APT::Update::Post-Invoke-Success "";
EOF
    APT_CONFIG=$1/apt.conf
    export APT_CONFIG
    apt-get update -qq >&2
}
