#include "cublas_groups.h"

#include <vector>

#include "harness/buffers.h"
#include "harness/cublas_formats.h"

namespace ladder::peers {

using harness::cublas_check;

struct CublasGroups::Data {
  cublasHandle_t handle = nullptr;
  int count;
  std::vector<cublasOperation_t> operations;
  std::vector<int> m, n, k, a_ld, b_ld, c_ld, sizes;  // each group has one product
  std::vector<float> ones, zeros;
  harness::DeviceBuffer<const void*> a, b;
  harness::DeviceBuffer<void*> c;

  explicit Data(size_t groups)
      : count(static_cast<int>(groups)),
        operations(groups, CUBLAS_OP_N),
        sizes(groups, 1),
        ones(groups, 1.0f),
        zeros(groups, 0.0f),
        a(groups),
        b(groups),
        c(groups) {
    cublas_check(cublasCreate(&handle));
  }
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() { cublasDestroy(handle); }
};

// Column-major, as in Cublas::product: A and B, M and N change places.
CublasGroups::CublasGroups(const Gemm<half, half>& p) {
  std::vector<Gemm<half, half>> products;
  for (int g = 0; g < p.groups.count; ++g)
    if (const Gemm<half, half> product = product_of_group(p, g); product.M > 0)
      products.push_back(product);
  data_ = std::make_unique<Data>(products.size());
  std::vector<const void*> a, b;
  std::vector<void*> c;
  for (const Gemm<half, half>& product : products) {
    data_->m.push_back(product.N);
    data_->n.push_back(product.M);
    data_->k.push_back(product.K);
    data_->a_ld.push_back(static_cast<int>(product.ldb));
    data_->b_ld.push_back(static_cast<int>(product.lda));
    data_->c_ld.push_back(static_cast<int>(product.ldc));
    a.push_back(product.B);
    b.push_back(product.A);
    c.push_back(product.C);
  }
  data_->a.upload(a);
  data_->b.upload(b);
  data_->c.upload(c);
}
CublasGroups::~CublasGroups() = default;

void CublasGroups::gemm(cudaStream_t stream) const {
  Data& d = *data_;
  cublas_check(cublasSetStream(d.handle, stream));
  cublas_check(cublasGemmGroupedBatchedEx(
      d.handle, d.operations.data(), d.operations.data(), d.m.data(), d.n.data(), d.k.data(),
      d.ones.data(), d.a.get(), CUDA_R_16F, d.a_ld.data(), d.b.get(), CUDA_R_16F, d.b_ld.data(),
      d.zeros.data(), d.c.get(), CUDA_R_16F, d.c_ld.data(), d.count, d.sizes.data(),
      CUBLAS_COMPUTE_32F));
}

}  // namespace ladder::peers
