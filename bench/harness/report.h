#pragma once
// What a run found out, as a table for people and as JSON for programs.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "nvml.h"
#include "problem.h"
#include "statistics.h"

namespace ladder::harness {

struct KernelFacts {
  int registers = 0;          // a thread
  uint64_t shared_bytes = 0;  // a block, static and dynamic
  int threads = 0;            // a block
  double occupancy = 0;       // resident warps / the multiprocessor's maximum, 0 to 1
};

struct Sustained {
  double tflops, percent_of_cublas;
  std::optional<double> percent_of_best{};  // of cublasLt
};

// One contender by itself, at one pace.
struct PowerRun {
  double tflops;
  PowerUse use;
};

struct ContenderPower {
  std::string contender;  // "stage", "cublas", "best"
  PowerRun bursts, sustained;
};

struct PowerReport {
  std::string unavailable;  // why there is nothing else
  std::string sensor{};
  double limit_watts = 0;
  std::vector<ContenderPower> contenders{};
};

// How the fastest of cublasLt's algorithms was found; its times are with each variant's.
struct BestOfCublasLt {
  int algorithms = 0;                 // that cublasLt proposed
  std::string algorithm;              // "#5 (id 66, tile 23, ...)", "" for none
  std::vector<std::string> left_out;  // each that failed or was wrong, and how
};

// One request of a warp: byte offsets in the array by lane, -1 for none, and its sectors or
// wavefronts. Of what a cp.async of 16 bytes reads also where the bytes go in shared memory.
struct RequestRow {
  std::vector<int64_t> offsets, to;
  unsigned cost;
};

// All requests of one source line to one array: what a profiler would count.
struct MemoryRow {
  std::string file;
  int line;
  std::string text, array;  // of the source line; "A", "sB", ...
  bool shared;
  // "load" and "store" are those of lanes. "remote load", "remote store": of lanes, to another
  // block's shared memory, and every st.async. "copy": a store to shared memory by cp.async.
  // "tma load" and "tma store": a box, in global and in shared memory. "wgmma": an operand.
  std::string op;
  unsigned bytes;  // a lane, a box, an operand
  uint64_t requests, lanes;
  uint64_t cost, ideal;  // sectors of global memory, wavefronts of shared memory
  uint64_t fetched;      // sectors that a cp.async past L1 asks L2 for, or that come for boxes
  uint64_t array_bytes;  // the whole array
  uint64_t pitch;        // of a matrix: bytes from a row to the next, else 0
  unsigned warp;         // the one whose first requests these are:
  std::vector<RequestRow> first;
};

// Numbers for what was accessed: by each source line, and by all in the order of each thread.
struct AccessDigest {
  struct Line {
    std::string file;
    int line;
    std::string text;
    uint64_t digest;
  };
  uint64_t all;       // with the ways through the code
  uint64_t accesses;  // without them
  uint64_t events;
  std::vector<Line> lines;
  std::vector<uintptr_t> blocks;  // that were entered; see cpu_device/digest.h
};

struct VariantReport {
  std::string name;
  std::optional<Verdict> check;
  std::optional<Timing> time;    // interleaved with cuBLAS
  std::optional<Timing> cublas;  // of the same interleaved run
  std::optional<Timing> best;    // of the same, too: the best of cublasLt
  bool cublas_does_all = true;   // and not the product alone, without the epilogue
  std::optional<Sustained> sustained;
  std::optional<PowerReport> power;
  std::optional<KernelFacts> kernel;             // GPU
  std::optional<std::vector<MemoryRow>> memory;  // CPU
  std::optional<AccessDigest> digest;            // CPU, with --digest
  std::vector<std::string> findings;             // CPU: races, accesses out of bounds, ...

  bool ok() const;  // nothing was found and the check, where there was one, succeeded
};

struct Report {
  std::string stage;
  Device device;
  Shape shape;
  Data data;
  std::optional<Wide> wide{};  // of Data::WIDE
  uint64_t seed;
  int runs = 1;  // with sets of data of their own; the next one's seed is larger by 1
  Sums sums = Sums::FP32;
  Layout layout{};
  std::vector<int> ends{};  // of groups, as in Problem
  EpilogueChoice epilogue{};
  std::string input, accumulate, output;  // number formats
  std::string cublas_version;
  std::vector<VariantReport> variants;
  std::optional<BestOfCublasLt> best;  // where it was looked for
};

// The rows of each group, from the rows at which they end.
std::vector<int> rows_of_groups(const std::vector<int>& ends);

// TFLOP/s of 2 M N K operations in that time.
double tflops(Shape shape, double milliseconds);

// Of a variant that has been timed; NaN where cuBLAS has nothing for the problem.
double percent_of_cublas(const VariantReport& v);
// The same of the faster one of cuBLAS's own choice and the best of cublasLt, where that was timed
// beside the variant: what cuBLAS chooses is not always among what cublasLt offers. With an
// epilogue of cublasLt alone.
std::optional<double> percent_of_best(const VariantReport& v);

// The rows' sums under the names that ncu gives them, in ncu's order.
std::vector<std::pair<std::string, uint64_t>> memory_totals(const std::vector<MemoryRow>& rows);

std::string to_table(const Report& report);
std::string to_json(const Report& report);
// The first requests of every line, with the offsets of their lanes, as JSON.
std::string to_trace(const Report& report);

}  // namespace ladder::harness
