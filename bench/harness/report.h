#pragma once
// What a run found out, as a table for people and as JSON for programs.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "problem.h"
#include "statistics.h"

namespace harness {

struct KernelFacts {
  int registers = 0;          // a thread
  uint64_t shared_bytes = 0;  // a block, static and dynamic
  int threads = 0;            // a block
  double occupancy = 0;       // resident warps / the multiprocessor's maximum, 0 to 1
};

struct Sustained {
  double tflops, percent_of_cublas;
};

struct VariantReport {
  std::string name;
  std::optional<Verdict> check;
  std::optional<Timing> time;    // interleaved with cuBLAS
  std::optional<Timing> cublas;  // of the same interleaved run
  std::optional<Sustained> sustained;
  KernelFacts kernel;
};

struct Report {
  std::string stage;
  Device device;
  Shape shape;
  Data data;
  uint64_t seed;
  std::string input, output;  // number formats; everything accumulates in fp32
  std::string cublas_version;
  std::vector<VariantReport> variants;
};

// TFLOP/s of 2 M N K operations in that time.
double tflops(Shape shape, double milliseconds);

std::string to_table(const Report& report);
std::string to_json(const Report& report);

// Throws UsageError when a file cannot be made at `path`; leaves nothing behind.
void require_writable(const std::string& path);
// Writes to a temporary file beside `path` and renames it, so that `path` is whole or absent.
void write_whole(const std::string& path, const std::string& text);

}  // namespace harness
