// build/timeline: what the warps of stages 04 to 11c wait for, over time.
//
//   build/timeline --json DIR/timelines.json     DIR: of ./ladder measure
//   ./ladder adopt DIR h200
//   ./ladder figures
//
// Each kernel runs at 4096^3, compiled twice: as it is, and with recorded.cuh before it, where
// every wait of a warp is an event. All blocks that one multiprocessor is given are recorded,
// because its clock is the time that their warps share; %globaltimer says how long a clock is. What
// lies between two events, FMAs, mma.syncs or accesses to memory, is what the kernel does there.
// Printed and reported: the time of the kernel as it is, with one multiprocessor recorded, and with
// all, which says how much slower a recorded block is. Exit codes: 0 all right; 1 a CUDA error; 2
// bad input; 77 no usable GPU.
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "clocks.h"
#include "harness/buffers.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/random.h"
#include "harness/report.h"
#include "stages.h"
#include "windows.h"

namespace timeline {
namespace {

using namespace ladder::harness;
using Json = nlohmann::ordered_json;

constexpr int SIZE = 4096;
constexpr size_t ELEMENTS = size_t{SIZE} * SIZE;
constexpr uint32_t BLOCKS = 2048;  // of the largest grid, 06's
constexpr size_t WARPS = size_t{BLOCKS} * WARPS_A_BLOCK;
constexpr uint32_t EVERY_SM = UINT32_MAX;
constexpr int LAUNCHES = 11;  // timed, of each kind
constexpr int WARM_UP = 5;    // launches before the one whose events are kept

template <class T>
std::vector<T> draw(Stream stream) {
  std::vector<T> values(ELEMENTS);
  for (size_t i = 0; i < ELEMENTS; ++i) values[i] = T(random_uniform(1, stream, i));
  return values;
}

struct Matrices {
  DeviceBuffer<float> a{ELEMENTS}, b{ELEMENTS}, c{ELEMENTS}, c_recorded{ELEMENTS};
  DeviceBuffer<half> half_a{ELEMENTS}, half_b{ELEMENTS};

  Matrices() {
    a.upload(draw<float>(Stream::A));
    b.upload(draw<float>(Stream::B));
    half_a.upload(draw<half>(Stream::A));
    half_b.upload(draw<half>(Stream::B));
  }
  Operands operands(bool half, bool recorded) const {
    void* const to = recorded ? c_recorded.get() : c.get();
    if (half) return {SIZE, half_a.get(), half_b.get(), to, nullptr};
    return {SIZE, a.get(), b.get(), to, nullptr};
  }
  // Whether the kernel as it is and the recorded one have written the same bits.
  bool same_results() const {
    std::vector<float> plain(ELEMENTS), recorded(ELEMENTS);
    c.download(plain);
    c_recorded.download(recorded);
    return std::memcmp(plain.data(), recorded.data(), ELEMENTS * sizeof(float)) == 0;
  }
};

double milliseconds(const std::function<void()>& launch) {
  cudaEvent_t begin, end;
  LADDER_CUDA_CHECK(cudaEventCreate(&begin));
  LADDER_CUDA_CHECK(cudaEventCreate(&end));
  LADDER_CUDA_CHECK(cudaEventRecord(begin, nullptr));
  launch();
  LADDER_CUDA_CHECK(cudaEventRecord(end, nullptr));
  LADDER_CUDA_CHECK(cudaEventSynchronize(end));
  float ms = 0;
  LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
  LADDER_CUDA_CHECK(cudaEventDestroy(begin));
  LADDER_CUDA_CHECK(cudaEventDestroy(end));
  return ms;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Has the kernels recorded, one stage after another.
class Session {
 public:
  Clocks clocks() { return measure_clocks(events_.get(), nullptr); }

  Json record(const Stage& stage) {
    uint32_t sm = 0;  // 11c leaves some without a block
    std::vector<RawWarp> raw;
    const int sms = ladder::device_attribute(cudaDevAttrMultiProcessorCount);
    for (; raw.empty() && sm < static_cast<uint32_t>(sms); ++sm) raw = record_sm(stage, sm);
    --sm;
    const Recording recording = recording_of(raw);

    Json json;
    json["stage"] = stage.name;
    json["time_ms"] = times(stage, sm);
    json["ns_per_clock"] = recording.ns_per_clock;
    json["multiprocessor"] = sm;
    for (const Role role : {Role::ALL, Role::COPIES, Role::MULTIPLIES})
      for (const auto& [kind, share] : waiting(recording, role))
        json["waiting"][name_of(role)][name_of(kind)] = share;
    json["windows"]["steady"] = to_json(recording, steady_window(recording));
    const Window change = change_window(recording);
    if (change.end > change.begin) json["windows"]["change"] = to_json(recording, change);
    return json;
  }

 private:
  static Json to_json(const Recording& recording, Window window) {
    Json warps = Json::array();
    for (const Warp& warp : recording.warps) {
      Json spans = Json::array();
      for (const Span& span : spans_around(warp, window))
        spans.push_back(
            {name_of(span.kind), span.line, span.begin - window.begin, span.end - window.begin});
      if (!spans.empty())
        warps.push_back({{"block", warp.block},
                         {"warp", warp.warp},
                         {"role", name_of(warp.role)},
                         {"spans", spans}});
    }
    return {{"clocks", window.end - window.begin}, {"warps", warps}};
  }

  void launch(const Stage& stage) const { stage.plain(matrices_.operands(stage.half, false)); }
  void launch_recorded(const Stage& stage) const {
    stage.recorded(matrices_.operands(stage.half, true));
  }

  // Before a launch is timed: the copy is not part of it.
  void set_recorder(const Stage& stage, uint32_t first_sm, uint32_t sms) {
    launches_ += 1 << 16;
    stage.set_recorder({events_.get(), BLOCKS, first_sm, sms, launches_});
  }

  Json times(const Stage& stage, uint32_t sm) {
    std::vector<double> plain, one, all;
    for (int i = 0; i < LAUNCHES; ++i) {
      plain.push_back(milliseconds([&] { launch(stage); }));
      set_recorder(stage, sm, 1);
      one.push_back(milliseconds([&] { launch_recorded(stage); }));
      set_recorder(stage, 0, EVERY_SM);
      all.push_back(milliseconds([&] { launch_recorded(stage); }));
    }
    return {{"plain", median(plain)},
            {"one_multiprocessor_recorded", median(one)},
            {"all_recorded", median(all)}};
  }

  std::vector<RawWarp> record_sm(const Stage& stage, uint32_t sm) {
    events_.fill(0, nullptr);
    matrices_.c.fill(0, nullptr);
    matrices_.c_recorded.fill(0, nullptr);
    set_recorder(stage, sm, 1);
    for (int i = 0; i < WARM_UP; ++i) launch(stage);
    launch_recorded(stage);
    LADDER_CUDA_CHECK(cudaDeviceSynchronize());
    if (!matrices_.same_results())
      throw std::runtime_error(fmt::format("{}: recorded, it computes something else", stage.name));
    return download();
  }

  // The warps that have events.
  std::vector<RawWarp> download() const {
    std::vector<uint32_t> first(WARPS);
    LADDER_CUDA_CHECK(cudaMemcpy2D(first.data(), sizeof(uint32_t), events_.get(),
                                   EVENTS * sizeof(Event), sizeof(uint32_t), WARPS,
                                   cudaMemcpyDeviceToHost));
    std::vector<RawWarp> raw;
    for (size_t i = 0; i < WARPS; ++i) {
      if (first[i] == 0) continue;
      std::vector<Event> events(EVENTS);
      LADDER_CUDA_CHECK(cudaMemcpy(events.data(), events_.get() + i * EVENTS,
                                   EVENTS * sizeof(Event), cudaMemcpyDeviceToHost));
      const auto none = [](const Event& event) { return event.what == 0; };
      events.erase(std::find_if(events.begin(), events.end(), none), events.end());
      const int number = static_cast<int>(i);
      constexpr int EACH = WARPS_A_BLOCK;
      raw.push_back({number / EACH, number % EACH, std::move(events)});
    }
    return raw;
  }

  Matrices matrices_;
  DeviceBuffer<Event> events_{WARPS * EVENTS};
  uint32_t launches_ = 0;
};

std::string percent_slower(const Json& times, const char* what) {
  const double ratio = times[what].get<double>() / times["plain"].get<double>();
  return fmt::format("{:+.1f}%", 100 * (ratio - 1));
}

// A line a stage: it is read by people as well, and compared.
std::string to_text(const Device& device, const Clocks& clocks, const std::vector<Json>& stages) {
  const Json head = {{"device", device.name},
                     {"size", SIZE},
                     {"timer_step_ns", clocks.timer_step_ns},
                     {"clocks_a_recording", clocks.clocks_a_recording}};
  std::vector<std::string> lines;
  for (const Json& stage : stages) lines.push_back(stage.dump());
  std::string text = head.dump();
  text.pop_back();
  return fmt::format("{},\n\"stages\": [\n{}\n]}}\n", text, fmt::join(lines, ",\n"));
}

// Serves --help. The file to write to, "" for none.
std::optional<std::string> parse(int argc, char** argv) {
  CLI::App app(
      "Records what the warps of stages 04 to 11c wait for, over time, at 4096^3 on one "
      "multiprocessor. ./ladder figures draws it.",
      "timeline");
  app.footer(
      "Exit codes: 0 all right; 1 a CUDA error; 2 bad input; 77 no usable GPU (it needs "
      "compute capability 9.0).");
  std::string json;
  add_output_file(app, "--json", json, "write what was recorded to this file");
  if (!parse_arguments(app, argc, argv)) return std::nullopt;
  if (!json.empty()) require_writable("--json", json);
  return json;
}

void run(const std::string& json) {
  const Device device = select_device(0, 90, true);
  Session session;
  const Clocks clocks = session.clocks();
  fmt::print("{}, {}^3; %globaltimer steps by {:.0f} ns; a recording takes {:.0f} clocks\n",
             device.name, SIZE, clocks.timer_step_ns, clocks.clocks_a_recording);
  fmt::print("{:24}{:>10}{:>12}{:>12}\n", "stage", "ms", "one SM rec.", "all rec.");
  std::vector<Json> recorded;
  for (const Stage& stage : stages()) {
    recorded.push_back(session.record(stage));
    const Json& times = recorded.back()["time_ms"];
    fmt::print("{:24}{:10.4f}{:>12}{:>12}\n", stage.name, times["plain"].get<double>(),
               percent_slower(times, "one_multiprocessor_recorded"),
               percent_slower(times, "all_recorded"));
  }
  if (!json.empty()) write_whole(json, to_text(device, clocks, recorded));
}

}  // namespace
}  // namespace timeline

int main(int argc, char** argv) {
  return ladder::harness::run_program("timeline", [&] {
    if (const std::optional<std::string> json = timeline::parse(argc, argv)) timeline::run(*json);
  });
}
