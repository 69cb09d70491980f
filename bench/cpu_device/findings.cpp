#include "findings.h"

#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "symbols.h"

namespace cpu_device {
namespace {

struct Key {
  Place place;
  std::string cause;
  bool operator==(const Key& other) const {
    return cause == other.cause && same_place(place, other.place);
  }
};
struct Hash {
  size_t operator()(const Key& key) const {
    const auto& [file, line, pc] = key.place;
    const size_t of_place = std::hash<const void*>()(pc) ^ static_cast<size_t>(line) ^
                            std::hash<std::string_view>()(file != nullptr ? file : "");
    return of_place * 31 ^ std::hash<std::string>()(key.cause);
  }
};

// In the order in which they were first seen.
class Findings {
 public:
  void add(const Place& place, const std::string& cause, const std::string& example,
           const Place& other, uint64_t count) {
    const auto [entry, is_new] = numbers_.try_emplace({place, cause}, all_.size());
    if (is_new)
      all_.push_back({place, cause, example, other, count});
    else
      all_[entry->second].count += count;
  }
  std::vector<Finding> all_;

 private:
  std::unordered_map<Key, size_t, Hash> numbers_;
};

std::mutex mutex;
__thread bool reporting = false;
Findings& findings() {
  static Findings all;
  return all;
}

// A name that stays as long as the program runs.
const char* kept(const std::string& name) {
  static std::set<std::string> names;
  return names.insert(name).first->c_str();
}

}  // namespace

bool same_place(const Place& a, const Place& b) {
  return a.line == b.line && a.pc == b.pc &&
         (a.file == b.file || (a.file && b.file && std::strcmp(a.file, b.file) == 0));
}

void report_finding(const Place& place, const std::string& cause, const std::string& example,
                    const Place& other) {
  reporting = true;
  {
    const std::lock_guard lock(mutex);
    findings().add(place, cause, example, other, 1);
  }
  reporting = false;
}

bool is_reporting() {
  return reporting;
}

// A compiler makes several instructions of one line, in each copy of an inlined function.
std::vector<Finding> take_findings() {
  const std::lock_guard lock(mutex);
  const Findings by_instruction = std::exchange(findings(), {});
  std::vector<const void*> instructions;
  for (const Finding& finding : by_instruction.all_) {
    instructions.push_back(finding.place.pc);
    instructions.push_back(finding.other.pc);
  }
  const std::vector<SourceLine> lines = source_lines(instructions);
  const auto by_file_and_line = [](const Place& place, const SourceLine& line) {
    const bool known = place.pc != nullptr && !line.file.empty();
    return known ? Place{kept(line.file), line.line, nullptr} : place;
  };
  Findings by_line;
  for (size_t i = 0; i < by_instruction.all_.size(); ++i) {
    const auto& [place, what, example, other, count] = by_instruction.all_[i];
    by_line.add(by_file_and_line(place, lines[2 * i]), what, example,
                by_file_and_line(other, lines[2 * i + 1]), count);
  }
  return by_line.all_;
}

}  // namespace cpu_device
