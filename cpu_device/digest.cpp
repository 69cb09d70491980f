#include "digest.h"

#include <mutex>
#include <set>

#include "block.h"
#include "symbols.h"
#include "tracer.h"

namespace cpu_device {
namespace {

std::mutex all_mutex;
uint64_t all_digest = 0, all_accesses = 0, all_events = 0;
std::map<std::pair<uintptr_t, int>, std::pair<Place, uint64_t>> all_sites;
std::set<uintptr_t> all_blocks;

}  // namespace

uintptr_t Digest::from_program(uintptr_t address) {
  return address == 0 ? 0 : address - reinterpret_cast<uintptr_t>(&take_digest);
}

Digest::Chains& Digest::chains() {
  const Thread& thread = this_block->current();
  if (thread.agent >= chains_.size()) chains_.resize(this_block->team().thread_count());
  Chains& chains = chains_[thread.agent];
  if (chains.all == 0)
    chains.all = chains.accesses = mixed(thread.block->number() * 1024 + thread.number + 1);
  return chains;
}

bool Digest::is_kernels(uintptr_t pc) {
  // The device may be in one, whose way depends on what the device has done before.
  if (is_in_shared_function(pc)) return false;
  blocks_.insert(pc);
  return true;
}

void Digest::add(const Place& place, uint64_t what) {
  const auto of_program = reinterpret_cast<uintptr_t>(place.pc != nullptr ? place.pc : place.file);
  what = mixed(what ^ mixed(from_program(of_program) + static_cast<unsigned>(place.line)));
  Chains& chains = this->chains();
  chains.all = mixed(chains.all ^ what);
  chains.accesses = mixed(chains.accesses ^ what);
  ++events_;
  const Thread& thread = this_block->current();
  auto& [where, sum] = sites_[{of_program, place.line}];
  where = place;
  sum += mixed(what + thread.block->number() * 1024 + thread.number);
}

void Digest::team_ends() {
  for (Chains& chains : chains_) {
    digest_ += chains.all;
    accesses_ += chains.accesses;
    chains = {};
  }
}

void Digest::publish() {
  const std::lock_guard lock(all_mutex);
  all_digest += digest_;
  all_accesses += accesses_;
  all_events += events_;
  for (const auto& [site, found] : sites_) {
    auto& [where, sum] = all_sites[site];
    where = found.first;
    sum += found.second;
  }
  all_blocks.insert(blocks_.begin(), blocks_.end());
  *this = {};
}

AccessDigest take_digest() {
  const std::lock_guard lock(all_mutex);
  AccessDigest result{all_digest, all_accesses, all_events, {}, {}};
  std::vector<const void*> instructions;
  for (const auto& [site, found] : all_sites) instructions.push_back(found.first.pc);
  const std::vector<SourceLine> lines = source_lines(instructions);
  std::map<std::pair<std::string, int>, uint64_t> by_line;
  size_t i = 0;
  for (const auto& [site, found] : all_sites) {
    const auto& [place, sum] = found;
    const SourceLine& line = lines[i++];
    by_line[place.file != nullptr ? std::pair{std::string(place.file), place.line}
                                  : std::pair{line.file, line.line}] += sum;
  }
  for (const auto& [line, sum] : by_line)
    result.lines.push_back({line.first, line.second, source_text({line.first, line.second}), sum});
  for (const uintptr_t pc : all_blocks) result.blocks.push_back(address_in_file(pc));
  all_blocks.clear();
  all_digest = all_accesses = all_events = 0;
  all_sites.clear();
  return result;
}

void trace_event(const Place& place, uint64_t what) {
  if (tracer != nullptr) tracer->event(place, what);
}

}  // namespace cpu_device
