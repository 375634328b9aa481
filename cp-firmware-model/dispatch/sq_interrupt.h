// SPDX-License-Identifier: MIT
// The vector that the shader sequencer sends for s_sendmsg and wave errors.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "cp-firmware-model/cp_bus.h"

namespace lyra {

enum class SqEncoding : uint8_t { Auto = 0, Wave = 1, Error = 2 };

/// Where a wave sits.
struct WavePlace {
    unsigned shader_engine = 0, cu = 0, simd = 0, wave = 0;
    bool priv = false;
};

/// Context words of source 239. @source Linux 6.12 amdkfd/kfd_int_process_v9.c (comment on GFX9 SQ interrupts)
struct SqContext {
    using DataLow = Bits<0, 12>;
    using Sh = Bits<12, 1>;
    using Priv = Bits<13, 1>;
    using WaveId = Bits<14, 4>;
    using SimdId = Bits<18, 2>;
    using CuId = Bits<20, 4>;
    using SeId = Bits<24, 2>;
    using Encoding = Bits<26, 2>;
    using DataMid = Bits<28, 4>;
};

/// Error types of SqEncoding::Error, in data bits 23:20.
inline constexpr unsigned kSqErrorTypeShift = 20;

inline Interrupt sq_interrupt(SqEncoding encoding, const WavePlace& place, uint32_t data, uint32_t vmid, uint16_t pasid) {
    uint32_t word = 0;
    word = SqContext::DataLow::set(word, data);
    word = SqContext::DataMid::set(word, data >> 12);
    word = SqContext::Priv::set(word, place.priv);
    word = SqContext::WaveId::set(word, place.wave);
    word = SqContext::SimdId::set(word, place.simd);
    word = SqContext::CuId::set(word, place.cu);
    word = SqContext::SeId::set(word, place.shader_engine);
    word = SqContext::Encoding::set(word, static_cast<uint32_t>(encoding));
    Interrupt interrupt;
    interrupt.client = static_cast<uint8_t>(ih_client::kSe0Sh + (place.shader_engine & 3));
    interrupt.source = ih_source::kSqMessage;
    interrupt.vmid = static_cast<uint8_t>(vmid);
    interrupt.pasid = pasid;
    interrupt.data[0] = word;
    interrupt.data[1] = (data >> 16) & 0xff;
    return interrupt;
}

}  // namespace lyra
