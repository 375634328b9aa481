// SPDX-License-Identifier: MIT
// The patched driver in a guest: its scheduler at work, and kfdtest as with Debian's.
#pragma once

#include "tools/lyra/guest/machine.h"
#include "tools/lyra/test/report.h"

namespace lyra::cli {

/// Clients of two priorities under each policy, in one guest.
void test_scheduler(const GuestOptions& options, Report& report);

/// Debuggers and evictions during resets of the GPU, in another guest.
void test_bad_times(const GuestOptions& options, Report& report);

/// The driver's trace events and the device's are in one clock.
void test_kernel_events(const GuestOptions& options, Report& report);

/// What tools/hardware/preempt_timing sees of the firmware's choices.
void test_firmware_probe(const GuestOptions& options, Report& report);

/// The KUnit tests of the series, in User Mode Linux.
void test_kunit(Report& report);

/// Registers, fields of packets and dwords of MQDs are where the driver's headers have them.
void test_facts(Report& report);

/// Experiments are forks of one saved machine.
void test_measure(const GuestOptions& options, Report& report);

/// An experiment on another chip.
void test_measure_on(Chip chip, const GuestOptions& options, Report& report);

/// What docs/first_hour/scheduling_idea.md tells a user to do.
void test_session(Report& report);

}  // namespace lyra::cli
