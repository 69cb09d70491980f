#include "findings.h"

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "block.h"
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

// When a finding was made, if the clusters of a launch ran one after the other: the launch, the
// first block of the cluster, and the number of the report.
using Position = std::array<uint64_t, 3>;

struct Made {
  Position at;
  Finding finding;
};

// Of each place and cause the first, with the number of all.
class Findings {
 public:
  void add(const Position& at, const Finding& finding) {
    const auto [entry, is_new] =
        made_.try_emplace(Key{finding.place, finding.what}, Made{at, finding});
    if (is_new) return;
    Made& made = entry->second;
    const uint64_t count = made.finding.count + finding.count;
    if (at < made.at) made = {at, finding};
    made.finding.count = count;
  }
  const std::unordered_map<Key, Made, Hash>& all() const { return made_; }
  std::vector<Finding> in_order() const {
    std::map<Position, Finding> ordered;
    for (const auto& [key, made] : made_) ordered.emplace(made.at, made.finding);
    std::vector<Finding> result;
    for (auto& [at, finding] : ordered) result.push_back(std::move(finding));
    return result;
  }

 private:
  std::unordered_map<Key, Made, Hash> made_;
};

std::mutex mutex;
uint64_t launches = 0, reports = 0;
__thread bool reporting = false;
Findings& findings() {
  static Findings all;
  return all;
}

// Of the finding that this OS thread reports now. What no block does comes after the launch.
Position position() {
  const uint64_t first_block =
      this_block == nullptr ? UINT64_MAX : this_block->number() - this_block->rank();
  return {launches, first_block, reports++};
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
                    const Place& other, const std::string& who) {
  reporting = true;
  {
    const std::lock_guard lock(mutex);
    findings().add(position(), {place, cause, example, other, 1, who});
  }
  reporting = false;
}

void findings_of_next_launch() {
  const std::lock_guard lock(mutex);
  ++launches;
}

bool is_reporting() {
  return reporting;
}

// A compiler makes several instructions of one line, in each copy of an inlined function.
std::vector<Finding> take_findings() {
  const std::lock_guard lock(mutex);
  const Findings by_instruction = std::exchange(findings(), {});
  std::vector<const void*> instructions;
  for (const auto& [key, made] : by_instruction.all()) {
    instructions.push_back(made.finding.place.pc);
    instructions.push_back(made.finding.other.pc);
  }
  const std::vector<SourceLine> lines = source_lines(instructions);
  const auto by_file_and_line = [](const Place& place, const SourceLine& line) {
    const bool known = place.pc != nullptr && !line.file.empty();
    return known ? Place{kept(line.file), line.line, nullptr} : place;
  };
  Findings by_line;
  auto line = lines.begin();
  for (auto [key, made] : by_instruction.all()) {
    made.finding.place = by_file_and_line(made.finding.place, *line++);
    made.finding.other = by_file_and_line(made.finding.other, *line++);
    by_line.add(made.at, made.finding);
  }
  return by_line.in_order();
}

}  // namespace cpu_device
