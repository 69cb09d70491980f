#pragma once
// The end of every program's command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>

#include "options.h"

namespace ladder::harness {

// Of programs that draw operands, and an order in which they race, on one GPU.
inline void add_seed_and_device(CLI::App& app, uint64_t& seed, int& device) {
  app.add_option("--seed", seed, "of the operands and the order")->capture_default_str();
  app.add_option("--device", device, "number of the GPU")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

// An option for a file that is to be written; an empty name is a mistake, and not "none".
inline CLI::Option* add_output_file(CLI::App& app, const std::string& option, std::string& path,
                                    const std::string& help) {
  const auto not_empty = [](const std::string& name) {
    return std::string(name.empty() ? "a file name is needed" : "");
  };
  return app.add_option(option, path, help)->type_name("FILE")->check(not_empty);
}

// Parses argv[1..]. False when --help or --version has been served (on stdout). Throws UsageError,
// in one line.
inline bool parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return false;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return false;
  } catch (const CLI::ParseError& error) {
    std::string line = error.what();
    std::replace(line.begin(), line.end(), '\n', ' ');
    throw UsageError(line + "; see --help");
  }
  return true;
}

}  // namespace ladder::harness
