#include "wgmma.h"

#include <algorithm>
#include <cmath>

#include "descriptor.h"
#include "tensor_core.h"
#include "tracer.h"

namespace cpu_device {
namespace {

constexpr unsigned M = 64, K_BYTES = 32;

unsigned element_bytes(WgmmaType type) {
  switch (type) {
    case WgmmaType::TF32:
      return 4;
    case WgmmaType::F16:
    case WgmmaType::BF16:
      return 2;
    case WgmmaType::E4M3:
    case WgmmaType::E5M2:
    case WgmmaType::S8:
      break;
  }
  return 1;
}

// Of a and b, each row after row, n rows of b.
void multiply(WgmmaType type, const void* a, const void* b, float* d, unsigned n) {
  const auto *const halves_a = static_cast<const uint16_t*>(a), *const halves_b =
                                                                    static_cast<const uint16_t*>(b);
  const auto *const bytes_a = static_cast<const uint8_t*>(a), *const bytes_b =
                                                                  static_cast<const uint8_t*>(b);
  switch (type) {
    case WgmmaType::F16:
      return tensor_core_multiply(halves_a, halves_b, d, M, n, K_BYTES / 2);
    case WgmmaType::BF16:
      return tensor_core_multiply_bf16(halves_a, halves_b, d, M, n, K_BYTES / 2);
    case WgmmaType::TF32:
      return wgmma_multiply_tf32(static_cast<const float*>(a), static_cast<const float*>(b), d, M,
                                 n);
    case WgmmaType::E4M3:
      return wgmma_multiply_fp8(bytes_a, Fp8::E4M3, bytes_b, Fp8::E4M3, d, M, n, K_BYTES);
    case WgmmaType::E5M2:
      return wgmma_multiply_fp8(bytes_a, Fp8::E5M2, bytes_b, Fp8::E5M2, d, M, n, K_BYTES);
    case WgmmaType::S8:
      return wgmma_multiply_s8(static_cast<const int8_t*>(a), static_cast<const int8_t*>(b),
                               reinterpret_cast<int32_t*>(d), M, n);
  }
}

// Where number i of a lane is in the 16 rows of its warp.
unsigned row_of(unsigned lane, unsigned i) {
  return lane / 4 + i / 2 % 2 * 8;
}
unsigned column_of(unsigned lane, unsigned i) {
  return i / 4 * 8 + lane % 4 * 2 + i % 2;
}

std::vector<uint32_t> chunks_of(uint64_t descriptor, bool transposed, unsigned rows) {
  std::vector<uint32_t> addresses;
  chunks(decode(descriptor), transposed, rows, addresses);
  return addresses;
}

// Reads the operands, which lie there now, and multiplies.
void carry_out(Block& block, Wgmma& op) {
  std::vector<uint16_t> a(M * K_BYTES / 2), b(size_t{op.n} * K_BYTES / 2);
  const auto read = [&](uint64_t descriptor, bool transposed, unsigned rows, uint16_t* to) {
    const uint32_t address = decode(descriptor).address;
    gather(block.at(address) - address, chunks_of(descriptor, transposed, rows), transposed, to);
  };
  if (op.a_in_registers)
    a = op.a_values;
  else
    read(op.a, op.transposed_a, M, a.data());
  read(op.b, op.transposed_b, op.n, b.data());
  std::vector<float> d(size_t{M} * op.n);
  const auto each = [&](auto visit) {
    for (unsigned t = 0; t < WARPGROUP; ++t)
      for (unsigned i = 0; i < op.n / 2; ++i)
        visit(op.registers[t]->values[i],
              d[(t / WARP * 16 + row_of(t % WARP, i)) * op.n + column_of(t % WARP, i)]);
  };
  if (op.accumulate) each([](float& value, float& element) { element = value; });
  multiply(op.type, a.data(), b.data(), d.data(), op.n);
  each([](float& value, float& element) { value = element; });
  op.done = true;
}

Agent agent_of(Block& block, Wgmmas& wgmmas) {
  if (wgmmas.agent == 0) wgmmas.agent = block.team().new_agent();
  return wgmmas.agent;
}

// All that wgmma reads in shared memory: A's rows of this warp, and B.
void look_at_operands(Block& block, const Wgmma& op, uint32_t number, Agent agent, unsigned warp) {
  if (tracer == nullptr) return;
  const Touch as{number + 1, static_cast<uint16_t>(agent), Kind::WGMMA, site_id(op.place)};
  const auto look = [&](uint64_t descriptor, bool transposed, unsigned rows, unsigned first,
                        unsigned count) {
    const std::vector<uint32_t> all = chunks_of(descriptor, transposed, rows);
    if (warp == 0) tracer->operand(op.place, block, all);
    for (unsigned i = first; i < first + count; ++i)
      if (!tracer->read_beside(op.place, block, all[i], 16, as)) return;
  };
  // Eight rows of A are two core matrices of eight chunks.
  if (!op.a_in_registers) look(op.a, op.transposed_a, M, warp * 32, 32);
  look(op.b, op.transposed_b, op.n, 0, op.n * 2);
}

// The wgmma that `given` describes, by this thread of its warpgroup. `a`: its registers, or null.
void start(const Wgmma& given, float* d, const uint32_t* a) {
  const Place& place = given.place;
  const unsigned n = given.n;
  Block& block = *this_block;
  Thread& thread = block.current();
  const unsigned warpgroup = thread.number / WARPGROUP, t = thread.number % WARPGROUP;
  if ((warpgroup + 1) * WARPGROUP > block.thread_count())
    return report_finding(place, "wgmma by a warpgroup that is not whole");
  Wgmmas& wgmmas = block.wgmmas(warpgroup);
  const uint32_t number = thread.wgmmas++;
  if (number - wgmmas.first == wgmmas.all.size()) {
    Wgmma& op = wgmmas.all.emplace_back();
    op = given;
    op.registers.resize(WARPGROUP);
    op.groups.resize(WARPGROUP);
    if (a != nullptr) op.a_values.resize(M * K_BYTES / 2);
    const auto check = [&](uint64_t descriptor, bool transposed) {
      const std::string problem =
          descriptor_problem(descriptor, transposed, element_bytes(op.type));
      if (!problem.empty()) report_finding(place, problem);
    };
    if (a == nullptr) check(op.a, op.transposed_a);
    check(op.b, op.transposed_b);
  }
  Wgmma& op = wgmmas.all[number - wgmmas.first];
  if (op.type != given.type || op.a != given.a || op.b != given.b || op.n != n ||
      op.accumulate != given.accumulate || op.a_in_registers != given.a_in_registers)
    report_finding(place, "the threads of a warpgroup give wgmma different operands", "", op.place);
  if (a != nullptr) {
    for (unsigned i = 0; i < 8; ++i)  // two a register
      op.a_values[(t / WARP * 16 + row_of(t % WARP, i)) * K_BYTES / 2 + column_of(t % WARP, i)] =
          static_cast<uint16_t>(a[i / 2] >> i % 2 * 16);
    thread.fragments_of_a.push_back({a, number});
  }

  // From here to the wait the registers are undefined.
  auto known = std::find_if(thread.accumulators.begin(), thread.accumulators.end(),
                            [&](const auto& x) { return x->registers == d && x->count == n / 2; });
  if (known == thread.accumulators.end()) {
    thread.accumulators.push_back(std::make_unique<Accumulators>());
    known = std::prev(thread.accumulators.end());
    (*known)->registers = d;
    (*known)->count = n / 2;
    (*known)->touched = !thread.wgmma_fenced;
  }
  Accumulators& registers = **known;
  if (block.team().traced() && registers.touched)
    report_finding(place, "wgmma adds to registers that were used since the last wgmma.fence");
  if (registers.pending == 0) {
    registers.values.assign(d, d + n / 2);
    std::fill_n(d, n / 2, NAN);
  }
  registers.touched = false;
  ++registers.pending;
  op.registers[t] = &registers;
  op.groups[t] = thread.wgmma_groups;
  if (t % WARP == 0) look_at_operands(block, op, number, agent_of(block, wgmmas), t / WARP);
  if (++op.arrived == WARPGROUP) {
    for (Thread* waiting : wgmmas.waiting) block.team().wake(*waiting);
    wgmmas.waiting.clear();
  }
}

}  // namespace

void wgmma(WgmmaType type, float* d, unsigned n, uint64_t a, uint64_t b, bool accumulate,
           bool transposed_a, bool transposed_b, const Place& place) {
  start({type, a, b, n, accumulate, transposed_a, transposed_b, place}, d, nullptr);
}

void wgmma_a_in_registers(WgmmaType type, float* d, unsigned n, const uint32_t* a, uint64_t b,
                          bool accumulate, bool transposed_b, const Place& place) {
  Wgmma given{type, 0, b, n, accumulate, false, transposed_b, place};
  given.a_in_registers = true;
  start(given, d, a);
}

void wgmma_fence() {
  Thread& thread = this_block->current();
  thread.wgmma_fenced = true;
  for (const auto& registers : thread.accumulators) registers->touched = false;
}

void wgmma_commit_group() {
  ++this_block->current().wgmma_groups;
}

void wgmma_wait_group(unsigned groups, const Place& place) {
  Block& block = *this_block;
  Thread& thread = block.current();
  const unsigned t = thread.number % WARPGROUP;
  if (thread.wgmmas == thread.wgmmas_done) return;
  Wgmmas& wgmmas = block.wgmmas(thread.number / WARPGROUP);
  while (thread.wgmmas_done < thread.wgmmas) {
    const uint32_t index = thread.wgmmas_done - wgmmas.first;
    if (wgmmas.all[index].groups[t] + groups >= thread.wgmma_groups) break;
    while (wgmmas.all[thread.wgmmas_done - wgmmas.first].arrived < WARPGROUP) {
      wgmmas.waiting.push_back(&thread);
      block.team().wait(place, "for the rest of their warpgroup to come to a wgmma");
    }
    Wgmma& op = wgmmas.all[thread.wgmmas_done - wgmmas.first];
    if (!op.done) carry_out(block, op);
    Accumulators& registers = *op.registers[t];
    if (--registers.pending == 0)
      std::copy(registers.values.begin(), registers.values.end(), registers.registers);
    ++thread.wgmmas_done;
    thread.knowledge.learn(Moment{agent_of(block, wgmmas), thread.wgmmas_done});
  }
  auto& fragments = thread.fragments_of_a;
  fragments.erase(
      std::remove_if(fragments.begin(), fragments.end(),
                     [&](const FragmentOfA& f) { return f.wgmma < thread.wgmmas_done; }),
      fragments.end());
  // What all have waited for is not needed any more.
  uint32_t least = thread.wgmmas_done;
  for (unsigned i = 0; i < WARPGROUP; ++i)
    least = std::min(least, block.thread(thread.number - t + i).wgmmas_done);
  for (; wgmmas.first < least; ++wgmmas.first) wgmmas.all.pop_front();
}

const char* touches_registers(Thread& thread, uintptr_t address) {
  for (const auto& registers : thread.accumulators) {
    const uintptr_t offset = address - reinterpret_cast<uintptr_t>(registers->registers);
    if (offset >= registers->count * sizeof(float)) continue;
    if (registers->pending > 0) return "uses accumulators of a wgmma that it has not waited for";
    registers->touched = true;
  }
  for (const FragmentOfA& fragment : thread.fragments_of_a)
    if (address - reinterpret_cast<uintptr_t>(fragment.registers) < 4 * sizeof(uint32_t))
      return "uses registers that a wgmma reads A from and that it has not waited for";
  return nullptr;
}

void wgmma_ends(Thread& thread) {
  if (thread.wgmmas == thread.wgmmas_done) return;
  const Wgmmas& wgmmas = thread.block->wgmmas(thread.number / WARPGROUP);
  report_finding(wgmmas.all[thread.wgmmas_done - wgmmas.first].place,
                 "the thread ends without having waited for this wgmma");
}

Moment next_wgmma(Thread& thread) {
  Block& block = *thread.block;
  const unsigned warpgroup = thread.number / WARPGROUP;
  if ((warpgroup + 1) * WARPGROUP > block.thread_count()) return thread.moment();
  return {agent_of(block, block.wgmmas(warpgroup)), thread.wgmmas + 1};
}

}  // namespace cpu_device
