// SPDX-License-Identifier: MIT
// 2/pi to 1201 bits for v_trig_preop_f64.
#include "gcn-interp/wave/fp.h"

#include <iterator>

namespace lyra::gcn::fp {

namespace {

/// The fraction bits of 2/pi, most significant first; bits past the 1201st are zero, as in the hardware's table.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

uint64_t table_word(unsigned index) { return index < std::size(kTwoOverPi) ? kTwoOverPi[index] : 0; }

}  // namespace

uint64_t two_over_pi_digits(double x, uint32_t segment, int& power) {
    int shift = static_cast<int>(segment & 31) * 53;
    const int e = exponent(x);
    if (e > 1077) shift += e - 1077;
    const unsigned word = static_cast<unsigned>(shift) / 64, offset = static_cast<unsigned>(shift) % 64;
    uint64_t window = table_word(word) << offset;
    if (offset != 0) window |= table_word(word + 1) >> (64 - offset);
    power = -53 - shift + (e >= 1968 ? 128 : 0);
    return window >> 11;
}

double trig_preop(double x, uint32_t segment) {
    int power = 0;
    const auto digits = static_cast<double>(two_over_pi_digits(x, segment, power));
    return std::scalbn(digits, power);
}

}  // namespace lyra::gcn::fp
