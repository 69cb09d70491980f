#pragma once
// What the library's files of kernels have for gemm.cpp. Each enqueues on p.stream, on a problem
// that its stage takes, and throws what that throws.
#include <cuda_fp16.h>

#include <cstdint>
#include <string>

#include "../gemm.h"
#include "../tuned/model.h"
#include "../types.cuh"
#include "copies.h"

namespace ladder::library {

// Whether the current device can run this build's kernels: those for any GPU from compute
// capability 8.0 on, those that need clusters, and those that need wgmma.
bool has_kernels();
bool has_kernels_of_clusters();
bool has_kernels_of_wgmma();

// Of 16 bits, with wgmma: the kernel and tile that `c` says; of 11c to 14, of 16, of 13 and 13b in
// 18's layouts, A by columns or B alone, this without an epilogue or with one, and for linear
// layers.
template <class T>
void launch_product(const tuned::Candidate& c, const Gemm<T, T>& p);
template <class T>
void launch_fused(const tuned::Candidate& c, const Gemm<T, T>& p);
template <class T>
void launch_a_by_columns(const tuned::Candidate& c, const Gemm<T, T>& p);
template <class T>
void launch_b_by_columns(const tuned::Candidate& c, const Gemm<T, T>& p);
template <class T>
void launch_b_by_columns_fused(const tuned::Candidate& c, const Gemm<T, T>& p);
template <class T>
void launch_linear(const tuned::Candidate& c, const Gemm<T, T>& p);

// Numbers that tensor cores read along K alone, with wgmma: 17, or with scales of blocks 17c;
// 19; 20; and 17's kernel for 16 bits with a C of fp32 or e4m3. fp32_sums as in GemmOptions. The
// stage and its tile in words; and the workspace of 19.
template <class In, class Out>
void launch_along_k(const Gemm<In, Out>& p, bool fp32_sums);
template <class In, class Out>
std::string stage_along_k(const Gemm<In, Out>& p, bool fp32_sums);
uint64_t tf32_bytes(const Gemm<tf32, float>& p);

// Of `count` products of p's sizes: 21, whose matrices lie behind each other, without gaps; and
// the kernel of batch.cuh, wherever they lie.
void launch_groups(Gemm<half, half> p, int count);
template <class T>
void launch_batch(const Gemm<T, T>& p, const Matrices<T, T>* matrices, int count);

// The epilogue of a product of zeros: 16's, or in fp32 that of 05c.
template <class T>
void launch_epilogue(const Gemm<T, T>& p);
// 18's pass: `to` gets `rows` rows of `columns`, which begin every 8 elements, and `from` has these
// as columns.
template <class T>
void launch_transpose(int rows, int columns, const T* from, int64_t ld_from, T* to,
                      CUstream_st* stream);

// The pass that brings matrices to rows that begin on 16 bytes, or C back.
template <class T>
void launch_copies(const AllRowsToCopy<T>& copies, CUstream_st* stream);

// 07b, 05c, and 05e with what it leaves to 05d and 05c.
template <class T>
void launch_swizzle(const Gemm<T, T>& p);
void launch_split_k(const Gemm<float, float>& p);
uint64_t split_k_bytes(const Gemm<float, float>& p);
void launch_few_rows(const Gemm<float, float>& p);
uint64_t few_rows_bytes(const Gemm<float, float>& p);
std::string few_rows_in_words(const Gemm<float, float>& p);

}  // namespace ladder::library
