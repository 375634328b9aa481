#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds AMD's kfdtest and its thunk from a tarball of a Debian source package, and tools/hardware/preempt_timing with the same
# thunk, and prints the folder that holds the programs.
#
#   build_kfdtest.sh [--cache DIR] [--release R] [--print]
#
#   --release R   a row of guests.tsv: sid's kfdtest is that of rocr-runtime (6.4), others' that of roct-thunk-interface (6.2)
#   --cache DIR   where results are kept (default: $LYRA_CACHE, then $XDG_CACHE_HOME/lyra, then ~/.cache/lyra)
#   --print       only print the folder; exit 1 when it is not made yet
#
# The folder is DIR/kfdtest-HASH; HASH covers this script, evidence.cpp and the timing program. LLVM and the thunk are linked
# statically, so that the guest needs only its own libdrm, libnuma, libz and C++ run-time library. About two minutes on two
# cores.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
guest=$here/../../tools/guest
. "$guest/artefact.sh"
release=trixie
while [ $# -gt 0 ]; do
    case $1 in
    --cache) cache=$2 && shift ;;
    --release) release=$2 && shift ;;
    --print) print_only=yes ;;
    *) echo "build_kfdtest.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
    shift
done

hardware=$here/../../tools/hardware
case $release in
sid) suite=sid package=rocr-runtime folder='*/libhsakmt' depth=2 ;;
*) suite=trixie package=roct-thunk-interface folder='*' depth=1 ;;
esac
artefact kfdtest "$({ cat "$here/build_kfdtest.sh" "$here/evidence.cpp" "$hardware"/*.cpp "$hardware"/*.h "$hardware"/*.inc &&
    echo "$package"; } | hash_of)" kfdtest

# Only the original tarball is needed; apt checks it against nothing when the .dsc is missing, so its hash, which the signed
# source index holds, is checked here.
fetch() {
    mkdir -p "$work/apt" "$work/src"
    . "$guest/apt_private.sh"
    apt_sources deb-src "$suite" main >"$work/apt/sources.list"
    apt_private "$work/apt"
    cd "$work/src"
    apt-get source --download-only "$package" || true
    tarball=$(ls "$package"_*.orig.tar.xz)
    apt-cache showsrc "$package" | grep -qF " $(sha256sum "$tarball" | cut -d' ' -f1) $(stat -c %s "$tarball") $tarball"
    mkdir thunk
    tar -xJf "$tarball" -C thunk --strip-components=$depth --wildcards "$folder"
}
build_thunk() {
    cmake -G Ninja -S "$work/src/thunk" -B "$work/thunk" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_INSTALL_PREFIX="$work/prefix"
    ninja -C "$work/thunk" install
}
# Debian takes the bundled gtest 1.6 out; its place in the build is given to an empty file and the system's gtest is linked.
# KFDCWSRTest uses std::make_tuple, Assemble.cpp llvm_shutdown() without the headers that LLVM 19 and gtest no longer bring in.
# BaseDebug.cpp has the ioctl's 64-bit result written over the caller's 32-bit counter and what lies behind it, which with GCC
# is the answer that KFDDBGTest.SuspendQueues looks at. KFDDBGTest.HitMemoryViolation lets its child run to its end before it
# asks KFD about it: where the child was quick to stop, it is gone by then.
# BasicCuMasking compares times, which virtual time makes meaningful. Its grids get 4096 work-groups in the place of 262144,
# which are 4 * 10^9 wave instructions each: minutes, not hours.
# evidence.cpp is linked with it: TEST_END calls it, which catches every exception and says nothing, and so do all ioctls.
build_tests() {
    tests=$work/src/thunk/tests/kfdtest
    sed -i 's/return hsaKmtDebugTrapIoctl(&args, queues, (HSAuint64 \*)numQueues);/HSAuint64 done = *numQueues;\n    HSAKMT_STATUS status = hsaKmtDebugTrapIoctl(\&args, queues, \&done);\n    *numQueues = done;\n    return status;/' \
        "$tests/src/BaseDebug.cpp"
    [ "$(grep -c 'queues, &done)' "$tests/src/BaseDebug.cpp")" = 2 ]
    before='Assume tracee queue has died and halted process'
    sed -i "/$before/{n;s/ptrace(PTRACE_CONT, childPid, NULL, NULL);/waitpid(childPid, \\&childStatus, 0);/;}" \
        "$tests/src/KFDDBGTest.cpp"
    [ "$(grep -A1 "$before" "$tests/src/KFDDBGTest.cpp" | grep -c 'waitpid(childPid, &childStatus, 0);')" = 1 ]
    sed -i '/::TimeConsumedwithCUMask(/,/^}/s/SetDim(1024, 16, 16)/SetDim(16, 16, 16)/' "$tests/src/KFDQMTest.cpp"
    [ "$(grep -c 'SetDim(16, 16, 16)' "$tests/src/KFDQMTest.cpp")" = 1 ]
    macros=$tests/src/GoogleTestExtension.hpp
    end='kfdtest_body_end(); } catch (...) {}'
    sed -i "s/^#define TEST_END .*/extern \"C\" void kfdtest_body_end();\n#define TEST_END $end/" "$macros"
    [ "$(grep -c '^#define TEST_END kfdtest_body_end();' "$macros")" = 1 ]
    g++ -std=c++17 -O2 -c -o "$work/evidence.o" "$here/evidence.cpp"
    mkdir -p "$tests/gtest-1.6.0"
    : >"$tests/gtest-1.6.0/gtest-all.cpp"
    LIBHSAKMT_PATH=$work/prefix cmake -G 'Unix Makefiles' -S "$tests" -B "$work/kfdtest" -DCMAKE_BUILD_TYPE=Release \
        "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG -include tuple -include llvm/Support/ManagedStatic.h -I$work/src/thunk/include" \
        "-DCMAKE_EXE_LINKER_FLAGS=-L$work/prefix/lib -Wl,--wrap=ioctl" \
        "-DCMAKE_CXX_STANDARD_LIBRARIES=$work/evidence.o -lgtest" \
        -DLLVM_DIR=/usr/lib/llvm-19/lib/cmake/llvm
    make -C "$work/kfdtest" -j2
}
# The same objects in the same order (it is the order of the tests), with LLVM's static libraries.
link_static() {
    cd "$work/kfdtest"
    objects=$(find . -name link.txt -exec cat {} + | tr ' ' '\n' | grep '\.o$')
    llvm=$(llvm-config-19 --link-static --libs amdgpuasmparser amdgpudesc amdgpuinfo core support mc mcparser)
    # shellcheck disable=SC2086
    g++ -O2 -Wl,--wrap=ioctl -o kfdtest-static $objects "$work/prefix/lib/libhsakmt.a" -lgtest -L/usr/lib/llvm-19/lib $llvm \
        -ldrm -ldrm_amdgpu -lnuma -lz -lzstd -ltinfo -lpthread -lrt -lm -Wl,--gc-sections
    strip kfdtest-static
}
build_timing() {
    g++ -std=c++17 -O2 -I"$work/prefix/include" -o "$work/preempt_timing" "$hardware/preempt_timing.cpp" "$work/prefix/lib/libhsakmt.a" \
        -ldrm -ldrm_amdgpu -lnuma -lpthread -lrt
    strip "$work/preempt_timing"
}
step "fetch the thunk's source" fetch
step "build the thunk" build_thunk
step "build kfdtest (about two minutes)" build_tests
step "link" link_static
step "build the timing program" build_timing
mkdir "$work/out"
cp "$work/preempt_timing" "$work/out/"
cp "$work/kfdtest/kfdtest-static" "$work/out/kfdtest"
publish 3
