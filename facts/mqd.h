// SPDX-License-Identifier: MIT
// Dwords of the memory queue descriptors, from facts/mqd/*.def. Their registers: mqd_registers.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace lyra {

/// struct v9_mqd: mqd::cp_hqd_pq_rptr is a dword, mqd::compute_user_data_0_dwords how many there are of it.
namespace mqd {

inline constexpr unsigned kDwords = 512;

enum Dword : uint16_t {
#define MQD_REG(name, dword, dwords, reg) name = dword, name##_dwords = dwords,
#define MQD(name, dword, dwords) name = dword, name##_dwords = dwords,
#define MQD_OWN(name, dword, dwords) name = dword, name##_dwords = dwords,
#include "facts/mqd/v9_mqd.def"
};

/// What dwords of struct v9_mqd's first union are where a chip has several XCCs.
inline constexpr Dword compute_current_logic_xcc_id = compute_static_thread_mgmt_se4,
                       compute_tg_chunk_size = compute_static_thread_mgmt_se6;

struct Row {
    const char* name;
    uint16_t dword, count;
};

inline constexpr Row kRows[] = {
#define MQD_REG(name, dword, dwords, reg) {#name, dword, dwords},
#define MQD(name, dword, dwords) {#name, dword, dwords},
#define MQD_OWN(name, dword, dwords) {#name, dword, dwords},
#include "facts/mqd/v9_mqd.def"
};

// A dword is one row's, whether the driver or this model gave it its meaning.
static_assert([] {
    std::array<bool, kDwords> taken{};
    for (const Row& row : kRows) {
        for (unsigned dword = row.dword; dword < row.dword + row.count; ++dword) {
            if (dword >= kDwords || taken[dword]) return false;
            taken[dword] = true;
        }
    }
    return true;
}());

}  // namespace mqd

/// struct v9_sdma_mqd
namespace sdma_mqd {

enum Dword : uint16_t {
#define SDMA_MQD(name, dword, reg) name = dword,
#include "facts/mqd/v9_sdma_mqd.def"
};

/// Dwords of the first registers; the rest of the 128 does not matter to the model.
inline constexpr unsigned kDwords = 32;

}  // namespace sdma_mqd

}  // namespace lyra
