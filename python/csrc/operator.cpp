// The operators gemm_ladder::* of torch: what they check, by which way they multiply, and their
// gradients. Nothing here knows Python, so that one build serves all of its versions.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <vector>

#include "along_k.h"
#include "way.h"

namespace gemm_ladder {
namespace {

using at::Tensor;
using ladder::Activation;
using OptionalTensor = std::optional<Tensor>;
using Name = std::optional<std::string_view>;  // of an activation
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// ---- What is asked for -------------------------------------------------------------------------

Activation activation_of(Name name) {
  if (!name) return Activation::NONE;
  if (*name == "relu") return Activation::RELU;
  if (*name == "gelu") return Activation::GELU_ERF;
  if (*name == "gelu_tanh") return Activation::GELU;
  if (*name == "silu") return Activation::SILU;
  TORCH_CHECK_VALUE(false, "activation is '", *name,
                    "', but must be relu, gelu, gelu_tanh, silu or None");
}

Tensor activated(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::NONE:
      return x;
    case Activation::RELU:
      return at::relu(x);
    case Activation::GELU:
      return at::gelu(x, "tanh");
    case Activation::GELU_ERF:
      return at::gelu(x);
    case Activation::SILU:
      return at::silu(x);
  }
  TORCH_INTERNAL_ASSERT(false);
}

void check_like(const char* name, const Tensor& t, const Tensor& a) {
  TORCH_CHECK(t.device() == a.device(),
              "Expected all tensors to be on the same device, but a is on ", a.device(), " and ",
              name, " is on ", t.device());
  TORCH_CHECK(t.scalar_type() == a.scalar_type(), "expected a and ", name,
              " to have the same dtype, but got: ", a.scalar_type(), " != ", t.scalar_type());
}

// Throws what torch.matmul throws, in its words where they say enough.
void check(const Tensor& a, const Tensor& b, const OptionalTensor& bias) {
  TORCH_CHECK(a.dim() == b.dim() && (a.dim() == 2 || a.dim() == 3),
              "mm takes two matrices or two batches of them, but a is ", a.dim(), "-D and b is ",
              b.dim(), "-D");
  check_like("b", b, a);
  const auto type = a.scalar_type();
  TORCH_CHECK(
      type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble,
      "gemm_ladder multiplies Half, BFloat16, Float and Double, but a is ", type);
  TORCH_CHECK(a.size(-1) == b.size(-2), "a and b shapes cannot be multiplied (", a.size(-2), "x",
              a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  TORCH_CHECK(a.dim() == 2 || a.size(0) == b.size(0), "a has ", a.size(0), " matrices, b has ",
              b.size(0));
  if (bias) {
    check_like("bias", *bias, a);
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == b.size(-1), "bias has the shape ",
                bias->sizes(), ", but C has ", b.size(-1), " columns");
  }
}

// ---- By torch ----------------------------------------------------------------------------------

Tensor by_torch(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
                Activation activation) {
  if (a.dim() == 3) return activated(bias ? at::baddbmm(*bias, a, b) : at::bmm(a, b), activation);
  return activated(bias ? at::addmm(*bias, a, b) : at::mm(a, b), activation);
}

void by_torch_into(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
                   Activation activation, Tensor out) {
  if (a.dim() == 3)
    bias ? at::baddbmm_out(out, *bias, a, b) : at::bmm_out(out, a, b);
  else
    bias ? at::addmm_out(out, *bias, a, b) : at::mm_out(out, a, b);
  if (activation != Activation::NONE) out.copy_(activated(out, activation));
}

// ---- By the library ----------------------------------------------------------------------------

// C = activation(a * b + bias), each of which lies by rows or by columns, C by rows; of batches the
// first.
template <class T>
ladder::Gemm<T, T> problem(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
                           Activation activation, const Tensor& c) {
  const auto of_a = stored(a), of_b = stored(b), of_c = lies(c, false);
  ladder::Gemm<T, T> p{};
  p.M = static_cast<int>(a.size(-2)), p.N = static_cast<int>(b.size(-1));
  p.K = static_cast<int>(a.size(-1));
  p.A = static_cast<const T*>(a.const_data_ptr()), p.lda = of_a->ld;
  p.B = static_cast<const T*>(b.const_data_ptr()), p.ldb = of_b->ld;
  p.C = static_cast<T*>(c.mutable_data_ptr()), p.ldc = of_c->ld;
  p.transposed_a = of_a->transposed, p.transposed_b = of_b->transposed;
  p.stream = c10::cuda::getCurrentCUDAStream(a.get_device());
  p.starts_early = true;  // for what runs before it, and after
  p.epilogue.activation = activation;
  if (bias) p.epilogue.bias = static_cast<const T*>(bias->const_data_ptr());
  return p;
}

template <class T>
void into(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Activation activation,
          const Tensor& c, bool tf32) {
  ladder::Gemm<T, T> p = problem<T>(a, b, bias, activation, c);
  ladder::GemmOptions options;
  options.tf32 = tf32;
  if (a.dim() == 3)
    options.batch = {static_cast<int>(a.size(0)), a.stride(0), b.stride(0), c.stride(0)};
  Tensor workspace;  // the allocator gives it to others only on the same stream
  if (const uint64_t bytes = ladder::workspace_bytes(p, options)) {
    workspace = at::empty({static_cast<int64_t>(bytes)}, a.options().dtype(at::kByte));
    p.workspace = workspace.mutable_data_ptr(), p.workspace_bytes = bytes;
  }
  ladder::gemm(p, options);
}

void into(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Activation activation,
          const Tensor& c, bool tf32) {
  switch (a.scalar_type()) {
    case at::kHalf:
      return into<half>(a, b, bias, activation, c, tf32);
    case at::kBFloat16:
      return into<__nv_bfloat16>(a, b, bias, activation, c, tf32);
    default:
      return into<float>(a, b, bias, activation, c, tf32);
  }
}

// The library copies rows that do not begin on 16 bytes; what it cannot name is copied here:
// matrices of which neither rows nor columns are contiguous, and a C that is not by rows. So is a
// batch of C's with gaps, which no single launch writes.
void into_any(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Activation activation,
              const Tensor& c, bool tf32) {
  const auto named = [](const Tensor& t) { return stored(t) ? t : t.contiguous(); };
  const bool is_named = c.dim() == 3 ? c.is_contiguous() : lies(c, false).has_value();
  const Tensor to = is_named ? c : at::empty(c.sizes(), c.options());
  into(named(a), named(b), bias ? OptionalTensor(bias->contiguous()) : bias, activation, to, tf32);
  if (!to.is_same(c)) c.copy_(to);
}

Tensor by(const Way& way, const Tensor& a, const Tensor& b, const OptionalTensor& bias,
          Activation activation) {
  const c10::cuda::CUDAGuard guard(a.device());
  if (way.by == Way::TORCH || !is_hopper(a)) return by_torch(a, b, bias, activation);
  auto sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  const Tensor c = at::empty(sizes, a.options());
  into_any(a, b, bias, activation, c, way.tf32);
  return c;
}

// ---- The operators -----------------------------------------------------------------------------

Tensor mm_on_cpu(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  const Activation activation = activation_of(name);
  check(a, b, bias);
  return by_torch(a, b, bias, activation);
}

Tensor mm_on_gpu(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  const Activation activation = activation_of(name);
  check(a, b, bias);
  return by(way_of(a, b, !bias && !name), a, b, bias, activation);
}

// Whether or not copies pay, by the library.
Tensor copied_mm(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  const Activation activation = activation_of(name);
  check(a, b, bias);
  return by(with_copies(a, b), a, b, bias, activation);
}

// Of matrices of 16 bits the product in fp32, as are the bias' sum and the activation.
Tensor mm_to_float(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  const Activation activation = activation_of(name);
  check(a, b, bias);
  const auto type = a.scalar_type();
  TORCH_CHECK(a.dim() == 2 && (type == at::kHalf || type == at::kBFloat16),
              "out_dtype=float32 is for matrices of Half and BFloat16, but a is ", a.dim(),
              "-D of ", type);
  const auto finished = [&](const Tensor& c) {
    return activated(bias ? c + *bias : c, activation);
  };
  const int64_t M = a.size(0), K = a.size(1), N = b.size(1);
  c10::cuda::OptionalCUDAGuard guard;
  if (a.is_cuda()) guard.set_device(a.device());
  if (!a.is_cuda() || !is_hopper(a) || std::min({M, N, K}) == 0 ||
      std::max({M, N, K}) > MOST_ELEMENTS)
    return finished(at::mm(a.to(at::kFloat), b.to(at::kFloat)));
  const auto options = a.options().dtype(at::kFloat);
  return finished(type == at::kHalf ? along_k<half, float>(a, b, options)
                                    : along_k<__nv_bfloat16, float>(a, b, options));
}

using Signature = Tensor(const Tensor&, const Tensor&, const OptionalTensor&, Name);
using Handle = c10::TypedOperatorHandle<Signature>;
Handle handle_of(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

Tensor mm(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  static const Handle HANDLE = handle_of("gemm_ladder::mm");
  return HANDLE.call(a, b, bias, name);
}

Tensor to_float(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  static const Handle HANDLE = handle_of("gemm_ladder::mm_to_float");
  return HANDLE.call(a, b, bias, name);
}

// Any number of dimensions, as torch.matmul has them.
Tensor matmul(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b, bias, name);
  TORCH_CHECK(a.dim() >= 1 && b.dim() >= 1,
              "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ",
              b.dim(), "D");
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1), bias, name).squeeze(-1);
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b, bias, name).squeeze(-2);
  std::vector<c10::SymInt> sizes;
  const auto shaped = [&](const Tensor& c) {
    sizes.push_back(a.sym_size(-2)), sizes.push_back(b.sym_size(-1));
    return c.reshape_symint(sizes);
  };
  if (b.dim() == 2) {  // rows of all matrices are rows of one
    sizes = a.sym_sizes().slice(0, a.dim() - 2).vec();
    return shaped(mm(a.flatten(0, -2), b, bias, name));
  }
  sizes = at::infer_size_symint(a.sym_sizes().slice(0, a.dim() - 2),
                                b.sym_sizes().slice(0, b.dim() - 2));
  const auto batch = [&](const Tensor& t) {
    auto all = sizes;
    all.push_back(t.sym_size(-2)), all.push_back(t.sym_size(-1));
    return t.expand_symint(all).flatten(0, -3);
  };
  const Tensor batch_a = batch(a), batch_b = batch(b);
  return shaped(mm(batch_a, batch_b, bias, name));
}

// weight: a row for each column of the result, as torch.nn.Linear has it.
Tensor linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Name name) {
  TORCH_CHECK(weight.dim() == 2, "weight must be a matrix, but is ", weight.dim(), "-D");
  return matmul(input, weight.t(), bias, name);
}

// ---- Into a tensor that is there ---------------------------------------------------------------

void matmul_out(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name,
                const Tensor& out) {
  check_like("out", out, a);
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, a);
  at::assert_no_overlap(out, b);
  if (bias) at::assert_no_overlap(out, *bias);
  const auto check_shape = [&](at::IntArrayRef sizes) {
    TORCH_CHECK(out.sizes() == sizes, "out has the shape ", out.sizes(), ", but the product has ",
                sizes);
  };
  const bool are_batches = a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0);
  if (a.is_cuda() && (are_batches || (a.dim() == 2 && b.dim() == 2))) {
    const Activation activation = activation_of(name);
    check(a, b, bias);
    auto sizes = a.sizes().vec();
    sizes.back() = b.size(-1);
    check_shape(sizes);
    const c10::cuda::CUDAGuard guard(a.device());
    const Way way = way_of(a, b, !bias && !name);
    if (way.by == Way::TORCH || !is_hopper(a)) return by_torch_into(a, b, bias, activation, out);
    return into_any(a, b, bias, activation, out, way.tf32);
  }
  const Tensor c = matmul(a, b, bias, name);
  check_shape(c.sizes());
  out.copy_(c);
}

// ---- Gradients ---------------------------------------------------------------------------------

struct Product : torch::autograd::Function<Product> {
  static constexpr bool is_traceable = true;

  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b,
                        const OptionalTensor& bias) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward(
        {b.requires_grad() ? a : Tensor(), a.requires_grad() ? b : Tensor()});
    context->saved_data["bias"] = bias.has_value();
    return mm(a, b, bias, std::nullopt);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const Tensor& c = gradients[0];
    const variable_list saved = context->get_saved_variables();
    variable_list result(3);
    if (saved[1].defined() && context->needs_input_grad(0))
      result[0] = mm(c, saved[1].mT(), std::nullopt, std::nullopt);
    if (saved[0].defined() && context->needs_input_grad(1))
      result[1] = mm(saved[0].mT(), c, std::nullopt, std::nullopt);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2))
      result[2] = c.dim() == 2 ? c.sum(0) : c.sum(at::IntArrayRef{0, 1});
    return result;
  }
};

bool needs_gradient(const Tensor& a, const Tensor& b, const OptionalTensor& bias) {
  return at::GradMode::is_enabled() &&
         (a.requires_grad() || b.requires_grad() || (bias && bias->requires_grad()));
}

Tensor mm_with_gradient(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  if (needs_gradient(a, b, bias))  // of an activation torch knows the gradient
    return activated(Product::apply(a, b, bias), activation_of(name));
  const at::AutoDispatchBelowADInplaceOrView guard;
  return mm(a, b, bias, name);
}

// The gradients are products of 16 bits, as those of mm.
struct ProductToFloat : torch::autograd::Function<ProductToFloat> {
  static constexpr bool is_traceable = true;

  static Tensor forward(AutogradContext* context, const Tensor& a, const Tensor& b) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    context->save_for_backward(
        {b.requires_grad() ? a : Tensor(), a.requires_grad() ? b : Tensor()});
    return to_float(a, b, std::nullopt, std::nullopt);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor c = gradients[0].to((saved[0].defined() ? saved[0] : saved[1]).scalar_type());
    variable_list result(2);
    if (saved[1].defined() && context->needs_input_grad(0))
      result[0] = mm(c, saved[1].mT(), std::nullopt, std::nullopt);
    if (saved[0].defined() && context->needs_input_grad(1))
      result[1] = mm(saved[0].mT(), c, std::nullopt, std::nullopt);
    return result;
  }
};

Tensor to_float_with_gradient(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
                              Name name) {
  if (needs_gradient(a, b, bias)) {
    const Tensor c = ProductToFloat::apply(a, b);
    return activated(bias ? c + *bias : c, activation_of(name));
  }
  const at::AutoDispatchBelowADInplaceOrView guard;
  return to_float(a, b, bias, name);
}

void matmul_out_without_gradient(const Tensor& a, const Tensor& b, const OptionalTensor& bias,
                                 Name name, const Tensor& out) {
  TORCH_CHECK(!needs_gradient(a, b, bias) && !(at::GradMode::is_enabled() && out.requires_grad()),
              "matmul(): functions with out=... arguments don't support automatic differentiation, "
              "but one of the arguments requires grad.");
  {
    static const auto HANDLE = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("gemm_ladder::matmul", "out")
                                   .typed<decltype(matmul_out)>();
    const at::AutoDispatchBelowADInplaceOrView guard;
    HANDLE.call(a, b, bias, name, out);
  }
  out.unsafeGetTensorImpl()->bump_version();
}

// ---- Autocast ----------------------------------------------------------------------------------

using Operator = Signature*;
template <c10::DeviceType DEVICE, Operator FUNCTION>
Tensor autocast(const Tensor& a, const Tensor& b, const OptionalTensor& bias, Name name) {
  const c10::impl::ExcludeDispatchKeyGuard guard(
      at::autocast::get_autocast_dispatch_key_from_device_type(DEVICE));
  const auto type = at::autocast::get_autocast_dtype(DEVICE);
  const auto cast = [&](const Tensor& t) { return at::autocast::cached_cast(type, t, DEVICE); };
  return FUNCTION(cast(a), cast(b), bias ? OptionalTensor(cast(*bias)) : bias, name);
}

// ---- In words ----------------------------------------------------------------------------------

std::string explain(const Tensor& a, const Tensor& b) {
  check(a, b, {});
  const Way way = way_of(a, b);
  if (way.by == Way::TORCH) return std::string("torch's own: ") + way.why;
  if (a.is_cuda() && !is_hopper(a)) return "torch's own: the GPU is no Hopper";
  std::string text = way.tf32 ? "the library, in TF32" : "the library";
  if (way.by == Way::COPIES) {
    text += std::string(" on aligned copies of") + (way.copy_a ? " a" : "") +
            (way.copy_b ? " b" : "") + (way.copy_c ? " C" : "") + ": " + way.why;
  }
  if (a.dim() == 3) switch (launches_of(a, b)) {
      case Launches::ONE:
        return text + ", in one launch";
      case Launches::FOR_EACH_64:
        return text + ", a launch for each 64 products";
      case Launches::FOR_EACH:
        return text + ", a launch for each product";
    }
  return text;
}

}  // namespace

TORCH_LIBRARY(gemm_ladder, m) {
  const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
  m.def("mm(Tensor a, Tensor b, Tensor? bias=None, str? activation=None) -> Tensor", tags);
  m.def("copied_mm(Tensor a, Tensor b, Tensor? bias=None, str? activation=None) -> Tensor", tags);
  m.def("mm_to_float(Tensor a, Tensor b, Tensor? bias=None, str? activation=None) -> Tensor", tags);
  m.def("matmul(Tensor a, Tensor b, Tensor? bias=None, str? activation=None) -> Tensor", tags);
  m.def(
      "matmul.out(Tensor a, Tensor b, Tensor? bias=None, str? activation=None, *, Tensor(a!) out)"
      " -> ()",
      tags);
  m.def("linear(Tensor input, Tensor weight, Tensor? bias=None, str? activation=None) -> Tensor",
        tags);
  m.def("explain(Tensor a, Tensor b) -> str");
}
TORCH_LIBRARY_IMPL(gemm_ladder, CompositeImplicitAutograd, m) {
  m.impl("matmul", matmul);
  m.impl("linear", linear);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CompositeExplicitAutograd, m) {
  m.impl("explain", explain);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CPU, m) {
  m.impl("mm", mm_on_cpu);
  m.impl("mm_to_float", mm_to_float);
  m.impl("matmul.out", matmul_out);
}
TORCH_LIBRARY_IMPL(gemm_ladder, CUDA, m) {
  m.impl("mm", mm_on_gpu);
  m.impl("mm_to_float", mm_to_float);
  m.impl("copied_mm", copied_mm);
  m.impl("matmul.out", matmul_out);
}
TORCH_LIBRARY_IMPL(gemm_ladder, Autograd, m) {
  m.impl("mm", mm_with_gradient);
  m.impl("mm_to_float", to_float_with_gradient);
  m.impl("matmul.out", matmul_out_without_gradient);
}
TORCH_LIBRARY_IMPL(gemm_ladder, AutocastCUDA, m) {
  m.impl("mm", autocast<c10::DeviceType::CUDA, mm>);
  m.impl("mm_to_float", autocast<c10::DeviceType::CUDA, to_float>);
  m.impl("matmul", autocast<c10::DeviceType::CUDA, matmul>);
  m.impl("linear", autocast<c10::DeviceType::CUDA, linear>);
}
TORCH_LIBRARY_IMPL(gemm_ladder, AutocastCPU, m) {
  m.impl("mm", autocast<c10::DeviceType::CPU, mm>);
  m.impl("mm_to_float", autocast<c10::DeviceType::CPU, to_float>);
  m.impl("matmul", autocast<c10::DeviceType::CPU, matmul>);
  m.impl("linear", autocast<c10::DeviceType::CPU, linear>);
}

}  // namespace gemm_ladder
