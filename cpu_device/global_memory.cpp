#include "global_memory.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <tuple>

#include "findings.h"

namespace cpu_device {
namespace {

struct Toucher {
  uint64_t cluster = 0;  // 1 + its number; 0: nobody
  Place place;
};
// Two readers of different clusters are enough: no writer is both.
struct Byte {
  Toucher writer, reader, other_reader;
};
struct Free {
  void operator()(Byte* bytes) const { std::free(bytes); }
};
struct Meeting {
  Place place, other;
  const char* what;
  bool operator<(const Meeting& m) const {
    const auto key = [](const Meeting& x) {
      return std::tie(x.place.pc, x.place.line, x.other.pc, x.other.line, x.what);
    };
    return key(*this) < key(m);
  }
};

std::mutex mutex;
std::atomic<bool> ordered{false};
// By the first address of the allocation. Pages of zeros, which exist where they are touched.
std::map<uintptr_t, std::unique_ptr<Byte[], Free>> arrays;
std::map<Meeting, std::string> meetings;  // with the array's name
__thread bool touching = false;

void touch(Byte& byte, const Toucher& now, bool is_store, const std::string& name) {
  const auto meets = [&](const Toucher& before, const char* what) {
    if (before.cluster != 0 && before.cluster != now.cluster)
      meetings.try_emplace({now.place, before.place, what}, name);
  };
  if (!is_store) {
    meets(byte.writer, "race: reads global memory that another block of this launch has written");
    if (byte.reader.cluster == 0)
      byte.reader = now;
    else if (byte.reader.cluster != now.cluster && byte.other_reader.cluster == 0)
      byte.other_reader = now;
    return;
  }
  meets(byte.writer, "race: writes global memory that another block of this launch has written");
  for (const Toucher* reader : {&byte.reader, &byte.other_reader})
    meets(*reader, "race: writes global memory that another block of this launch has read");
  byte.writer = now;
}

}  // namespace

void touch_global(const Place& place, const Allocation& a, uintptr_t address, unsigned bytes,
                  bool is_store, uint64_t cluster) {
  const uintptr_t begin = std::max(address, a.begin), end = std::min(address + bytes, a.end);
  if (begin >= end) return;  // stray, and a finding already
  touching = true;
  {
    const std::lock_guard lock(mutex);
    auto& array = arrays[a.begin];
    if (array == nullptr) {
      array.reset(static_cast<Byte*>(std::calloc(a.end - a.begin, sizeof(Byte))));
      if (array == nullptr) throw std::bad_alloc();
    }
    for (uintptr_t at = begin; at < end; ++at)
      touch(array[at - a.begin], {cluster + 1, place}, is_store, a.name);
  }
  touching = false;
}

void blocks_may_be_ordered() {
  ordered.store(true, std::memory_order_relaxed);
}

void global_memory_of_next_launch() {
  const std::lock_guard lock(mutex);
  if (!ordered)
    for (const auto& [meeting, name] : meetings)
      report_finding(meeting.place, meeting.what, "in " + name, meeting.other);
  ordered = false;
  arrays.clear();
  meetings.clear();
}

bool is_touching_global() {
  return touching;
}

}  // namespace cpu_device
