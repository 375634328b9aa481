// SPDX-License-Identifier: MIT
#include "tools/lyra/cli/side_by_side.h"

#include <exception>
#include <mutex>
#include <thread>

namespace lyra::cli {

void side_by_side(const std::vector<std::function<void()>>& tasks) {
    std::mutex lock;
    std::exception_ptr error;
    std::vector<std::thread> threads;
    threads.reserve(tasks.size());
    for (const std::function<void()>& task : tasks) {
        threads.emplace_back([&] {
            try {
                task();
            } catch (...) {
                const std::lock_guard guard(lock);
                if (!error) error = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (error) std::rethrow_exception(error);
}

}  // namespace lyra::cli
