#pragma once
// The end of every program's command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
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

// What CLI11 takes for a number and nobody means: 0x10, " 5", nothing, nan, -1 for one without a
// sign.
inline std::string not_plain(const std::string& text, const std::string& type) {
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto is_whole = [&](auto number) {
    const std::from_chars_result read = std::from_chars(begin, end, number);
    return read.ec == std::errc() && read.ptr == end;
  };
  bool plain = true;
  if (type.rfind("UINT", 0) == 0) plain = is_whole(uint64_t{});
  if (type.rfind("INT", 0) == 0) plain = is_whole(int64_t{});
  if (type.rfind("FLOAT", 0) == 0)
    plain = !text.empty() && text.find_first_not_of("-.0123456789e") == std::string::npos &&
            std::isfinite(std::strtod(begin, nullptr));
  return plain ? "" : "'" + text + "' is no number for it";
}

// Parses argv[1..]. False when --help or --version has been served (on stdout). Throws UsageError,
// in one line. `PLAIN_NUMBERS`: false where the options read their numbers themselves.
template <bool PLAIN_NUMBERS = true>
bool parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  for (CLI::Option* option : app.get_options())  // --flag=no is no way to say --no-flag
    if (option->get_items_expected_max() == 0)
      option->disable_flag_override();
    else if (PLAIN_NUMBERS)
      option->check([type = option->get_type_name()](const std::string& text) {
        return not_plain(text, type);
      });
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
