// SPDX-License-Identifier: MIT
// Does not compile: `lyra run` has to say so and to exit with 2.
#include <hip/hip_runtime.h>

int main() { return this_name_is_not_declared; }
