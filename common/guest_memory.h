// SPDX-License-Identifier: MIT
// What ThreadSanitizer has to know of the guest's memory.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateBenignRaceSized(const char* file, int line, const volatile void* address, std::size_t bytes,
                                        const char* why);
#endif

namespace lyra {

/// Memory in which waves, processors of the guest and the device race with one another as the guest's programs want it:
/// ThreadSanitizer reports no plain access to it. Atomic operations there still order what host threads do.
inline void races_as_on_hardware([[maybe_unused]] const volatile void* host, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
    AnnotateBenignRaceSized(__FILE__, __LINE__, host, bytes, "memory of the guest");
#endif
}

}  // namespace lyra
