#include "cudnn.h"

#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_map>

namespace ladder::attention_bench {
namespace {

namespace fe = cudnn_frontend;

void require(fe::error_t error, const char* what) {
  if (error.is_bad()) throw std::runtime_error(fmt::format("{}: {}", what, error.get_message()));
}
void require(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{}: {}", what, cudnnGetErrorString(status)));
}

enum Tensor : int64_t { Q, K, V, O };

// A graph of one operation, and what it needs to run.
class Plan {
 public:
  explicit Plan(const Attention& p) {
    require(cudnnCreate(&handle_), "cudnnCreate");
    graph_.set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto attributes = [&](Tensor tensor, int64_t heads, int64_t rows) {
      return fe::graph::Tensor_attributes()
          .set_uid(tensor)
          .set_dim({p.batch, heads, rows, p.width})
          .set_stride({heads * rows * p.width, rows * p.width, p.width, 1});
    };
    const auto queries = graph_.tensor(attributes(Q, p.heads, p.queries));
    const auto keys = graph_.tensor(attributes(K, p.kv_heads, p.keys));
    const auto values = graph_.tensor(attributes(V, p.kv_heads, p.keys));
    auto options = fe::graph::SDPA_attributes()
                       .set_name("attention")
                       .set_generate_stats(false)
                       .set_attn_scale(p.scale);
    if (p.causal)  // the last query sees all keys
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::BOTTOM_RIGHT)
          .set_diagonal_band_right_bound(0);
    const auto result = graph_.sdpa(queries, keys, values, options)[0];
    const auto like = attributes(O, p.heads, p.queries);
    result->set_output(true).set_uid(O).set_dim(like.get_dim()).set_stride(like.get_stride());
    require(graph_.build(handle_, {fe::HeurMode_t::A}), "cuDNN has no kernel");
    int64_t bytes = 0;
    require(graph_.get_workspace_size(bytes), "cuDNN's workspace");
    workspace_.emplace(static_cast<size_t>(bytes));
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { cudnnDestroy(handle_); }

  void run(const Attention& p) {
    std::unordered_map<int64_t, void*> addresses{{Q, const_cast<bf16*>(p.Q)},
                                                 {K, const_cast<bf16*>(p.K)},
                                                 {V, const_cast<bf16*>(p.V)},
                                                 {O, p.O}};
    require(cudnnSetStream(handle_, p.stream), "cudnnSetStream");
    require(graph_.execute(handle_, addresses, workspace_->get()), "cuDNN");
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  fe::graph::Graph graph_;
  std::optional<harness::DeviceBuffer<unsigned char>> workspace_;
};

}  // namespace

Variant cudnn(const Attention& p) {
  const size_t version = cudnnGetVersion();  // as in 91900
  return {fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100),
          [plan = std::make_shared<Plan>(p)](const Attention& of) { plan->run(of); }};
}

}  // namespace ladder::attention_bench
