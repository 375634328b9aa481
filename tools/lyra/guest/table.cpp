// SPDX-License-Identifier: MIT
// Reads the table of kernels and releases, which the scripts of tools/guest read too.
#include "tools/lyra/guest/table.h"

#include <cstdio>
#include <sstream>
#include <tuple>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace {

GuestTable read_table() {
    const std::string file = (source_dir() / "tools/guest/guests.tsv").string();
    GuestTable table;
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream columns(line);
        std::vector<std::string> words;
        for (std::string word; std::getline(columns, word, '\t');) words.push_back(word);
        if (words.size() == 4 && words[0] == "kernel")
            table.kernels.push_back(words[1]);
        else if (words.size() == 3 && words[0] == "release")
            table.releases.push_back(words[1]);
        else if (words.size() == 4 && words[0] == "without")
            table.without.push_back({words[1], words[2], words[3]});
        else
            throw EnvironmentError(fmt::format("{}: malformed row: {}", file, line));
    }
    if (table.kernels.empty() || table.releases.empty())
        throw EnvironmentError(fmt::format("{} names no kernel or no release", file));
    return table;
}

std::tuple<unsigned, unsigned> numbers(const std::string& version) {
    unsigned major = 0, minor = 0;
    std::sscanf(version.c_str(), "%u.%u", &major, &minor);
    return {major, minor};
}

}  // namespace

std::string GuestTable::objection(const std::string& release, const std::string& kernel) const {
    for (const Without& row : without) {
        if (row.release == release && row.kernel == kernel) return row.why;
    }
    return "";
}

const GuestTable& guest_table() {
    static const GuestTable table = read_table();
    return table;
}

bool older_kernel(const std::string& a, const std::string& b) { return numbers(a) < numbers(b); }

}  // namespace lyra::cli
