#include "knowledge.h"

#include <algorithm>

namespace cpu_device {

bool Knowledge::covers_all(const std::vector<Moment>& moments, Agent self) const {
  return !moments.empty() && std::all_of(moments.begin(), moments.end(),
                                         [&](Moment m) { return m.agent == self || covers(m); });
}

void Knowledge::raise(Clocks& clocks, Moment m) {
  if (clocks.size() <= m.agent) clocks.resize(m.agent + 1);
  clocks[m.agent] = std::max(clocks[m.agent], m.clock);
}

void Knowledge::join(Clocks& clocks, const Clocks& other) {
  if (clocks.size() < other.size()) clocks.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clocks[i] = std::max(clocks[i], other[i]);
}

Knowledge::Known& Knowledge::own() {
  if (known_ == nullptr)
    known_ = std::make_shared<Known>();
  else if (known_.use_count() > 1)
    known_ = std::make_shared<Known>(*known_);
  return *known_;
}

void Knowledge::learn(Moment m) {
  if (!covers(m)) raise(own().seen, m);
}

void Knowledge::learn(const Knowledge& other) {
  if (other.known_ == nullptr || other.known_ == known_) return;
  if (known_ == nullptr) {
    known_ = other.known_;
    return;
  }
  const std::shared_ptr<Known> from = other.known_;
  Known& mine = own();
  join(mine.seen, from->seen);
  join(mine.fenced, from->fenced);
}

void Knowledge::fence(Moment own_moment) {
  Known& mine = own();
  join(mine.fenced, mine.seen);
  raise(mine.fenced, own_moment);
}

void Gathering::add(const Knowledge& knowledge, Moment own) {
  // Most come with what all were told at the last barrier.
  if (!knowledge.same_as(last_)) all_.learn(knowledge);
  last_ = knowledge;
  all_.learn(own);
}

void Gathering::forget() {
  all_.forget();
  last_.forget();
}

}  // namespace cpu_device
