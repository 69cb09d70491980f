#include "findings.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
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

// When a finding was made, if the clusters of a launch ran one after the other.
struct Position {
  uint64_t launch, cluster, number;
  bool operator<(const Position& other) const {
    return std::tie(launch, cluster, number) < std::tie(other.launch, other.cluster, other.number);
  }
};

struct Made {
  Position at;
  Finding finding;
};

// Of each place and cause the first, with the number of all.
class Findings {
 public:
  void add(const Position& at, const Finding& finding) {
    const Key key{finding.place, finding.what};
    const auto [entry, is_new] = numbers_.try_emplace(key, all_.size());
    if (is_new) return all_.push_back({at, finding});
    Made& made = all_[entry->second];
    const uint64_t count = made.finding.count + finding.count;
    if (at < made.at) made = {at, finding};
    made.finding.count = count;
  }
  std::vector<Made> in_order() {
    std::sort(all_.begin(), all_.end(), [](const Made& a, const Made& b) { return a.at < b.at; });
    return std::move(all_);
  }

 private:
  std::vector<Made> all_;
  std::unordered_map<Key, size_t, Hash> numbers_;
};

std::mutex mutex;
__thread bool reporting = false;
__thread Position position{};  // of this OS thread's next finding
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
    findings().add(position, {place, cause, example, other, 1});
    ++position.number;
  }
  reporting = false;
}

void findings_are_of(uint64_t launch, uint64_t cluster) {
  position = {launch, cluster, 0};
}

bool is_reporting() {
  return reporting;
}

// A compiler makes several instructions of one line, in each copy of an inlined function.
std::vector<Finding> take_findings() {
  const std::lock_guard lock(mutex);
  const std::vector<Made> by_instruction = std::exchange(findings(), {}).in_order();
  std::vector<const void*> instructions;
  for (const auto& [at, finding] : by_instruction) {
    instructions.push_back(finding.place.pc);
    instructions.push_back(finding.other.pc);
  }
  const std::vector<SourceLine> lines = source_lines(instructions);
  const auto by_file_and_line = [](const Place& place, const SourceLine& line) {
    const bool known = place.pc != nullptr && !line.file.empty();
    return known ? Place{kept(line.file), line.line, nullptr} : place;
  };
  Findings by_line;
  for (size_t i = 0; i < by_instruction.size(); ++i) {
    auto [at, finding] = by_instruction[i];
    finding.place = by_file_and_line(finding.place, lines[2 * i]);
    finding.other = by_file_and_line(finding.other, lines[2 * i + 1]);
    by_line.add(at, finding);
  }
  std::vector<Finding> all;
  for (Made& made : by_line.in_order()) all.push_back(std::move(made.finding));
  return all;
}

}  // namespace cpu_device
