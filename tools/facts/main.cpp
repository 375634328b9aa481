// SPDX-License-Identifier: MIT
// Pages and dictionaries from the rows of the tables (pages.h).
//
//   lyra_facts registers|packets       a page of docs/spec/ to stdout
//   lyra_facts dictionary pm4|sdma|aql  a dictionary for libFuzzer
//   lyra_facts check SOURCE_TREE        exit status 1: a page in docs/spec/ is not that of the rows
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tools/facts/pages.h"

namespace {

using namespace lyra::facts;

bool current(const std::string& tree, const std::string& name, const std::string& page) {
    const std::string path = tree + "/docs/spec/" + name + ".md";
    std::ifstream file(path);
    if (std::string((std::istreambuf_iterator<char>(file)), {}) == page) return true;
    fmt::print("{} is not that of the rows; `lyra_facts {} > docs/spec/{}.md` makes it\n", path, name, name);
    return false;
}

int print(const std::string& text) {
    if (text.empty()) return 2;
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string verb = argc > 1 ? argv[1] : "", what = argc > 2 ? argv[2] : "";
    if (verb == "registers") return print(registers_page());
    if (verb == "packets") return print(packets_page());
    if (verb == "dictionary") return print(dictionary(what));
    if (verb != "check" || what.empty()) {
        std::fputs("usage: lyra_facts registers | packets | dictionary pm4|sdma|aql | check SOURCE_TREE\n", stderr);
        return 2;
    }
    const bool registers = current(what, "registers", registers_page()), packets = current(what, "packets", packets_page());
    return registers && packets ? 0 : 1;
}
