// SPDX-License-Identifier: MIT
// What a call of the thunk returns, as far as the ports tell results apart.
#pragma once

#include <cstdint>
#include <ostream>

namespace lyra::kfd {

enum class Status : uint8_t { Success, Error, InvalidParameter, NoMemory, OutOfResources, WaitTimeout };

inline std::ostream& operator<<(std::ostream& out, Status status) {
    constexpr const char* kNames[] = {"success",          "error",         "invalid parameter", "no memory",
                                      "out of resources", "wait timed out"};
    return out << kNames[static_cast<uint8_t>(status)];
}

}  // namespace lyra::kfd
