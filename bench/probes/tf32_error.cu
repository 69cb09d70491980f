// What sums of products are off by over K: 19's three ways to multiply floats by tensor cores, the
// last one also without sums in fp32; and fp32 without tensor cores, 05b. With signs, and without.
// On the GPU, or on the CPU device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <vector>

#include "05b_split_barrier.cuh"
#include "19_tf32.cuh"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/program.h"
#include "harness/random.h"

namespace ladder {
namespace {

using harness::DeviceBuffer;
using tf32_products::Way;

std::vector<float> draw(int rows, int K, bool is_signed, harness::Stream stream) {
  std::vector<float> matrix(static_cast<size_t>(rows) * static_cast<size_t>(K));
  for (size_t at = 0; at < matrix.size(); ++at) {
    const float x = harness::random_uniform(1, stream, at);
    matrix[at] = is_signed ? x : std::abs(x);
  }
  return matrix;
}

// The root of the mean square of what results are off by, over that of what they should be. A is
// size x K, B here size x K as well: its columns.
class Errors {
 public:
  Errors(int size, int K, bool is_signed)
      : size_(size),
        K_(K),
        a_(draw(size, K, is_signed, harness::Stream::A)),
        b_(draw(size, K, is_signed, harness::Stream::B)),
        on_device_a_(a_.size()),
        on_device_b_(b_.size()),
        c_(elements()),
        exact_(elements()) {
    on_device_a_.upload(a_);
    on_device_b_.upload(b_);
    for (int m = 0; m < size; ++m)
      for (int n = 0; n < size; ++n) {
        double sum = 0;
        for (int k = 0; k < K; ++k) sum += double{a_[at(m, k)]} * double{b_[at(n, k)]};
        exact_[static_cast<size_t>(m) * static_cast<size_t>(size) + static_cast<size_t>(n)] = sum;
      }
  }

  template <Way WAY>
  double by_tensor_cores(bool in_one_sum = false) {
    Gemm<tf32, float> p{size_, size_,
                        K_,    reinterpret_cast<const tf32*>(on_device_a_.get()),
                        K_,    reinterpret_cast<const tf32*>(on_device_b_.get()),
                        K_,    c_.get(),
                        size_};
    p.transposed_b = true;
    p.workspace_bytes = tf32_products::workspace_bytes<WAY>(p);
    const DeviceBuffer<unsigned char> workspace(p.workspace_bytes + 16);
    p.workspace = workspace.get();
    if (in_one_sum)
      tf32_products::gemm_as(tf32_products::configuration<WAY, 128, 256>(), p);
    else
      tf32_products::gemm<WAY>(p);
    return error();
  }
  double in_fp32() {
    std::vector<float> by_rows(b_.size());
    for (int n = 0; n < size_; ++n)
      for (int k = 0; k < K_; ++k)
        by_rows[static_cast<size_t>(k) * static_cast<size_t>(size_) + static_cast<size_t>(n)] =
            b_[at(n, k)];
    DeviceBuffer<float> b(by_rows.size());
    b.upload(by_rows);
    split_barrier::gemm(
        {size_, size_, K_, on_device_a_.get(), K_, b.get(), size_, c_.get(), size_});
    return error();
  }

 private:
  size_t at(int row, int k) const {
    return static_cast<size_t>(row) * static_cast<size_t>(K_) + static_cast<size_t>(k);
  }
  size_t elements() const { return static_cast<size_t>(size_) * static_cast<size_t>(size_); }
  double error() const {
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> c(elements());
    c_.download(c);
    double off = 0, all = 0;
    for (size_t i = 0; i < c.size(); ++i) {
      off += (double{c[i]} - exact_[i]) * (double{c[i]} - exact_[i]);
      all += exact_[i] * exact_[i];
    }
    return std::sqrt(off / all);
  }

  int size_, K_;
  std::vector<float> a_, b_;
  DeviceBuffer<float> on_device_a_, on_device_b_, c_;
  std::vector<double> exact_;
};

void run(int size, int largest_k) {
#ifndef LADDER_CPU_DEVICE
  harness::select_device(0, 90, true);
#endif
  fmt::print("{:<12} {:>7} {:>10} {:>10} {:>14} {:>17} {:>10}\n", "sums", "K", "cut", "tf32",
             "three_products", "three, in one sum", "fp32");
  for (const bool is_signed : {true, false})
    for (int K = 64; K <= largest_k; K *= 4) {
      Errors errors(size, K, is_signed);
      fmt::print("{:<12} {:>7} {:>10.2e} {:>10.2e} {:>14.2e} {:>17.2e} {:>10.2e}\n",
                 is_signed ? "with signs" : "without", K, errors.by_tensor_cores<Way::CUT>(),
                 errors.by_tensor_cores<Way::ROUNDED>(), errors.by_tensor_cores<Way::THREE>(),
                 errors.by_tensor_cores<Way::THREE>(true), errors.in_fp32());
    }
}

// Serves --help. Whether there is something to compute.
bool parse(int argc, char** argv, int& size, int& largest_k) {
  CLI::App app("Prints what sums of products of floats are off by, relative to the results.",
               "tf32_error");
  app.add_option("--size", size, "rows of A, and columns of B")
      ->check(CLI::Range(4, 1024))
      ->capture_default_str();
  app.add_option("--largest-k", largest_k, "K goes from 64 up to it, times four")
      ->check(CLI::Range(64, 1 << 20))
      ->capture_default_str();
  app.footer(
      "Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU (it needs "
      "compute capability 9.0).");
  return harness::parse_arguments(app, argc, argv);
}

}  // namespace
}  // namespace ladder

int main(int argc, char** argv) {
  return ladder::harness::run_program("tf32_error", [&] {
    int size = 128, largest_k = 4096;
    if (ladder::parse(argc, argv, size, largest_k)) ladder::run(size, largest_k);
  });
}
