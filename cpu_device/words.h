#pragma once
// Words in global memory with which the blocks of a grid tell each other what is there, and what
// they leave each other in the workspace. Clocks are a cluster's own: of another one a cluster
// knows what came with a word.
#include <cstdint>

#include "knowledge.h"
#include "place.h"

namespace cpu_device {

// What came with a word that a thread has waited for.
struct Told {
  uint64_t cluster;     // that has written it
  Knowledge knowledge;  // of who has, then
  Moment moment;        // of the thread that has waited: who knows of it knows this, too
};

// A launch begins, and so many OS threads will run its clusters; one of them has no more to run.
void words_of_next_launch(uint64_t workers);
void worker_leaves_words();

// All of its clusters have ended.
void words_of_launch_end();

// Whether this OS thread holds the lock of all this, and must not be left.
bool holds_words();

// By the current thread.
void release_word(uint64_t* word, uint64_t value, const Place& place);
// Ends the launch where nobody is left who could write it.
void wait_for_word(const uint64_t* word, uint64_t value, const Place& place);
void stored_for_others(uintptr_t address, unsigned bytes, const Place& place);
void loaded_from_others(uintptr_t address, unsigned bytes, const Place& place);

}  // namespace cpu_device
