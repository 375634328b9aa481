// SPDX-License-Identifier: MIT
// lyra waves: lists the waves of a saved queue, from the bytes of its save area.
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "cwsr/save_area.h"
#include "tools/lyra/cli/chip_option.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace {

struct Options {
    std::string file, chip;
    uint32_t ring_bytes = 0;
    unsigned xccs = 1;
    cwsr::DumpOptions dump;
    bool summary = false, json = false;
};

std::string read_all(const std::string& path) {
    if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
    std::ifstream file(path, std::ios::binary);
    if (!file) throw UserError(fmt::format("{}: {}", path, std::strerror(errno)));
    return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json to_json(const cwsr::WaveImage& wave, const cwsr::WaveRegisters& registers) {
    const auto acc = registers.vgprs.begin() + (wave.acc_first != 0 ? wave.acc_first : wave.vgprs);
    return {{"group", wave.group},
            {"group_id", wave.group_id},
            {"number", wave.number},
            {"packet", wave.packet},
            {"engine", wave.engine},
            {"pc", wave.pc},
            {"exec", wave.exec},
            {"m0", wave.m0},
            {"status", wave.status},
            {"mode", wave.mode},
            {"trapsts", wave.trapsts},
            {"lds_bytes", wave.lds_bytes},
            {"scratch_slot", wave.scratch_en ? nlohmann::json(wave.scratch_slot) : nlohmann::json()},
            {"sgprs", registers.sgprs},
            {"vgprs", std::vector(registers.vgprs.begin(), acc)},
            {"accvgprs", std::vector(acc, registers.vgprs.end())}};
}

int run(Options options) {
    const Chip chip = chip_named(options.chip);
    const std::string area = read_all(options.file);
    const cwsr::ReadArea read = [&](uint64_t offset, void* data, size_t size) {
        if (offset > area.size() || size > area.size() - offset) return false;
        std::memcpy(data, area.data() + offset, size);
        return true;
    };
    if (area.size() % options.xccs != 0)
        throw UserError(fmt::format("{} bytes are not the areas of {} XCCs, which are of one size", area.size(), options.xccs));
    const cwsr::Image image = cwsr::read_save_areas(read, options.xccs, area.size() / options.xccs, options.ring_bytes, chip);
    if (options.json) {
        nlohmann::json result{{"waves", nlohmann::json::array()}, {"error", image.error}};
        for (const cwsr::WaveImage& wave : image.waves) {
            cwsr::WaveRegisters registers;
            if (cwsr::read_registers(wave, read, registers)) result["waves"].push_back(to_json(wave, registers));
        }
        fmt::print("{}\n", result.dump(2));
    } else {
        options.dump.registers = !options.summary;
        fmt::print("{}", cwsr::dump_image(image, read, options.dump));
        if (!image.error.empty()) fmt::print("damaged: {}\n", image.error);
    }
    return image.error.empty() ? kOk : kFailed;
}

}  // namespace

std::function<int()> set_up_waves(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("FILE", options->file, "bytes of a queue's save area from its start, - is standard input")
        ->required()
        ->type_name("");
    add_chip_option(app, options->chip, "save area");
    app.add_flag("--summary", options->summary, "without registers");
    app.add_flag("--lds", options->dump.lds, "the LDS of the work-groups, too");
    app.add_option("--ring", options->ring_bytes, "size of the queue's ring, to check packet numbers against")
        ->type_name("BYTES");
    app.add_option("--xccs", options->xccs, "so many areas, one behind the other, as of a partition of that many XCCs")
        ->check(CLI::Range(1, 8))
        ->type_name("N");
    app.add_flag("--json", options->json, "as JSON");
    app.footer("0: the image is as a debugger expects it, 1: it is damaged.");
    return [options] { return run(*options); };
}

}  // namespace lyra::cli
