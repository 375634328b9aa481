// SPDX-License-Identifier: MIT
// lyra version
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "qemu-hw/include/lyra.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

std::function<int()> set_up_version(CLI::App& app) {
    auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "as JSON");
    return [json] {
        if (*json) {
            fmt::print("{}\n", nlohmann::json{{"version", lyra_version()}, {"abi", LYRA_ABI_VERSION}}.dump());
        } else {
            fmt::print("lyra {}\n", lyra_version());
        }
        return kOk;
    };
}

}  // namespace lyra::cli
