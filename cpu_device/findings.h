#pragma once
// What a kernel did that a GPU would not forgive.
#include <cstdint>
#include <string>
#include <vector>

#include "place.h"

namespace cpu_device {

struct Finding {
  Place place;          // file and line, where the program has them
  std::string what;     // the cause, the same for all that happened there for one reason
  std::string example;  // the first of them: addresses, numbers; may be empty
  Place other;          // what it conflicts with; line 0: nothing
  uint64_t count;
  std::string who;  // which threads wait, in a deadlock
  std::string text() const { return example.empty() ? what : what + ": " + example; }
};

// Findings with the same cause at the same place are one, with a count and the first example.
void report_finding(const Place& place, const std::string& cause, const std::string& example = "",
                    const Place& other = {}, const std::string& who = "");

// A launch begins: findings from here on come after those of the launches before.
void findings_of_next_launch();

// Of everything since the last call, one for each source line and cause, in the order in which they
// were first made. Of one launch those of the first cluster come first, whichever OS thread was
// faster, so that who runs it again reads the same line first.
std::vector<Finding> take_findings();

// Whether this OS thread is in report_finding(), which must not be left.
bool is_reporting();

bool same_place(const Place& a, const Place& b);

}  // namespace cpu_device
