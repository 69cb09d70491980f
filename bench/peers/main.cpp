// Stages, cuBLAS, the algorithms of cublasLt and kernels of CUTLASS beside each other, shape by
// shape. Prints a line of JSON for each thing it does, so that whoever reads them knows what it was
// about when it did not come back. ./ladder peers does, and makes tables of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "arena.h"
#include "competitors.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/program.h"
#include "harness/statistics.h"
#include "race.h"
#include "shapes.h"

namespace ladder::peers {
namespace {

using harness::Shape;
using Json = nlohmann::ordered_json;

struct Options {
  std::string type = "fp16";
  std::vector<std::string> shapes, only, leave_out;
  double milliseconds = 150, budget_seconds = 1e9;
  uint64_t seed = 1;
  int device = 0;
  bool configurations = true;
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
constexpr double WARMUP_SECONDS = 0.3;

void print(const Json& line) {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

// The passes after each competitor has been checked and launched once or twice more: what a pass
// drops does not come back. A few launches are no measurement, so that a pass drops only what is
// far off.
constexpr double CHECKED_FACTOR = 1.6;
constexpr double CHECKED_EXTRA_MS = 0.05;  // these launches have the host's time in them
constexpr double ONCE_MS = 2;              // what takes longer is launched only once
constexpr int FIRST_ROUNDS = 2, SECOND_ROUNDS = 5;
constexpr Limit AFTER_FIRST{1.3, 30, 2}, AFTER_SECOND{1.15, 6, 1};
constexpr int FEWEST_ROUNDS = 7, MOST_ROUNDS = 100;

// The contest at one shape.
template <class In, class Out>
class Contest {
 public:
  Contest(Shape shape, const Arena<In, Out>& arena, const Options& options, cudaStream_t stream)
      : shape_(shape),
        arena_(arena),
        options_(options),
        stream_(stream),
        race_(stream, arena.sets(shape)),
        tolerance_(tolerance<In, Out>(shape.k)),
        random_(options.seed) {}

  Json run(std::vector<Competitor<In, Out>> all) {
    const auto start = Clock::now();
    const size_t candidates = all.size();
    for (auto& competitor : all) {
      print({{"trying", competitor.family + ": " + competitor.variant.name}});
      const std::string why = check(competitor);
      if (why.empty())
        contenders_.push_back(competitor);
      else if (competitor.family == "cuBLAS")
        throw std::runtime_error("cuBLAS at " + name(shape_) + ": " + why);
      else
        leave_out(competitor, why);
    }
    print({{"trying", "a race"}});
    drop_after_check();
    race(FIRST_ROUNDS);
    drop(AFTER_FIRST);
    race(SECOND_ROUNDS);
    drop(AFTER_SECOND);
    const auto times = race(rounds(options_.milliseconds, FEWEST_ROUNDS, MOST_ROUNDS));

    Json line = {{"shape", name(shape_)}, {"type", options_.type}};
    line["sets"] = arena_.sets(shape_);
    line["candidates"] = candidates;
    line["competitors"] = Json::array();
    for (size_t i = 0; i < contenders_.size(); ++i)
      line["competitors"].push_back(to_json(contenders_[i], times[i]));
    line["slower"] = slower_;
    line["left_out"] = left_out_;
    line["seconds"] = seconds_since(start);
    return line;
  }

 private:
  // Runs it on a poisoned C, and once more for its time. "", or why it does not take part.
  std::string check(Competitor<In, Out>& competitor) {
    const auto& unwanted = options_.leave_out;
    if (std::find(unwanted.begin(), unwanted.end(),
                  competitor.family + ": " + competitor.variant.name) != unwanted.end())
      return "left out as told";
    try {
      const Gemm<In, Out> p = arena_.gemm(shape_, 0, workspace_bytes(competitor.variant), stream_);
      LADDER_CUDA_CHECK(
          cudaMemsetAsync(p.C, harness::POISON, arena_.result_bytes(shape_), stream_));
      if (p.workspace != nullptr)
        LADDER_CUDA_CHECK(
            cudaMemsetAsync(p.workspace, harness::POISON, p.workspace_bytes, stream_));
      competitor.variant.gemm(p);
      LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
      const Differences differences = judge(p, competitor.family == "cuBLAS");
      if (differences.wrong > 0) return fmt::format("{} elements are wrong", differences.wrong);
      if (differences.beside > 0)
        competitor.note = fmt::format("writes {} elements beside C", differences.beside);
      competitor.ms = time_once(competitor, p);
      if (competitor.ms < ONCE_MS)
        competitor.ms = std::min(competitor.ms, time_once(competitor, p));
      return "";
    } catch (const std::exception& error) {
      cudaGetLastError();
      // An error that stays has taken the context with it: no other competitor could run.
      if (cudaStreamSynchronize(stream_) != cudaSuccess) throw;
      return error.what();
    }
  }

  double time_once(const Competitor<In, Out>& competitor, const Gemm<In, Out>& p) const {
    harness::EventPair events;
    events.around([&](int) { competitor.variant.gemm(p); }, 0, stream_);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream_));
    return events.milliseconds();
  }

  // The result in p.C: that of cuBLAS is the reference once doubles agree with it.
  Differences judge(const Gemm<In, Out>& p, bool is_reference) {
    if (is_reference) {
      LADDER_CUDA_CHECK(cudaMemcpyAsync(arena_.reference(), p.C, arena_.result_bytes(shape_),
                                        cudaMemcpyDeviceToDevice, stream_));
      const Differences doubles = compare_with_doubles(p, tolerance_);
      if (doubles.wrong > 0) return doubles;
    }
    return compare(p.C, arena_.reference(), shape_, p.ldc, tolerance_, stream_);
  }

  uint64_t workspace_bytes(const harness::Variant<In, Out>& variant) const {
    if (!variant.workspace_bytes) return 0;
    const uint64_t bytes = variant.workspace_bytes(arena_.gemm(shape_, 0, 0, stream_));
    if (bytes > arena_.WORKSPACE_BYTES)
      throw std::invalid_argument(fmt::format("needs a workspace of {} bytes", bytes));
    return bytes;
  }

  // Times those who are left, and keeps their medians.
  std::vector<harness::Timing> race(int rounds) {
    std::vector<harness::LaunchOn> launches;
    std::vector<double> estimates;
    for (const auto& contender : contenders_) {
      const uint64_t bytes = workspace_bytes(contender.variant);
      std::vector<Gemm<In, Out>> problems;
      for (int set = 0; set < arena_.sets(shape_); ++set)
        problems.push_back(arena_.gemm(shape_, set, bytes, stream_));
      launches.push_back([problems, &contender](int set) {
        contender.variant.gemm(problems[static_cast<size_t>(set)]);
      });
      estimates.push_back(contender.ms);
    }
    std::vector<harness::Timing> result;
    const auto times = race_.run(launches, estimates, rounds, random_);
    for (size_t i = 0; i < contenders_.size(); ++i) {
      result.push_back(harness::summarize(times[i]));
      // Of few launches the shortest says most.
      contenders_[i].ms = rounds > SECOND_ROUNDS ? result[i].median : result[i].p10;
    }
    return result;
  }

  int rounds(double wanted_ms, int least, int most) const {
    std::vector<double> ms;
    for (const auto& contender : contenders_) ms.push_back(contender.ms);
    return rounds_for(ms, wanted_ms, least, most);
  }

  void drop_after_check() {
    double fastest = contenders_.front().ms;
    for (const auto& contender : contenders_) fastest = std::min(fastest, contender.ms);
    const double slowest = CHECKED_FACTOR * fastest + CHECKED_EXTRA_MS;
    drop({slowest / fastest, contenders_.size(), AFTER_FIRST.least});
  }
  void drop(const Limit& limit) {
    std::vector<Standing> standings;
    for (const auto& c : contenders_) standings.push_back({c.family, c.stays, c.ms});
    std::vector<Competitor<In, Out>> left;
    const std::vector<size_t> stay = survivors(standings, limit);
    for (size_t i = 0; i < contenders_.size(); ++i) {
      if (std::binary_search(stay.begin(), stay.end(), i))
        left.push_back(contenders_[i]);
      else if (contenders_[i].family != "cublasLt" && contenders_[i].family != "CUTLASS")
        slower_.push_back({{"family", contenders_[i].family},
                           {"name", contenders_[i].variant.name},
                           {"about_ms", contenders_[i].ms}});
    }
    contenders_ = left;
  }

  void leave_out(const Competitor<In, Out>& competitor, const std::string& why) {
    left_out_.push_back(
        {{"family", competitor.family}, {"name", competitor.variant.name}, {"why", why}});
  }

  static Json to_json(const Competitor<In, Out>& competitor, const harness::Timing& time) {
    Json json = {{"family", competitor.family},
                 {"name", competitor.variant.name},
                 {"own", competitor.stays},
                 {"ms", time.median},
                 {"p10", time.p10},
                 {"p90", time.p90},
                 {"samples", time.samples}};
    if (!competitor.note.empty()) json["note"] = competitor.note;
    return json;
  }

  Shape shape_;
  const Arena<In, Out>& arena_;
  const Options& options_;
  cudaStream_t stream_;
  Race race_;
  Tolerance tolerance_;
  std::mt19937_64 random_;
  std::vector<Competitor<In, Out>> contenders_;
  Json slower_ = Json::array(), left_out_ = Json::array();
};

bool wanted(const Options& options, const std::string& family) {
  return family == "cuBLAS" ||
         std::any_of(options.only.begin(), options.only.end(), [&](const std::string& beginning) {
           return family.compare(0, beginning.size(), beginning) == 0;
         });
}

template <class In, class Out>
void run_all(const Options& options, const std::vector<Shape>& shapes,
             const harness::Device& device) {
  const auto start = Clock::now();
  cudaStream_t stream = nullptr;  // to the end of the program
  LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto kernels = stages<In, Out>();
  if (!options.configurations)
    for (auto& stage : kernels) stage.configurations.clear();
  const auto cublas = std::make_shared<harness::Cublas>();
  print({{"gpu", device.name},
         {"driver", device.driver},
         {"toolkit", device.toolkit},
         {"cublas", cublas->version()},
         {"cutlass_kernels", cutlass_kernels().size()}});
  const Arena<In, Out> arena(shapes, device.l2_bytes);
  // An idle GPU takes tens of milliseconds to raise its clocks.
  for (const auto begin = Clock::now(); seconds_since(begin) < WARMUP_SECONDS;) {
    arena.draw(options.seed, stream);
    LADDER_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
  for (const Shape& shape : shapes) {
    if (seconds_since(start) > options.budget_seconds) {
      print({{"stopped", "the time is over"}});
      return;
    }
    print({{"begins", name(shape)}});
    auto all = competitors<In, Out>(arena.gemm(shape, 0, 0, stream), kernels, cublas);
    if (!options.only.empty())
      all.erase(std::remove_if(all.begin(), all.end(),
                               [&](const auto& c) { return !wanted(options, c.family); }),
                all.end());
    print(Contest<In, Out>(shape, arena, options, stream).run(std::move(all)));
  }
}

std::optional<Options> parse(int argc, char** argv) {
  Options o;
  CLI::App app(
      "Times stages, cuBLAS, cublasLt and CUTLASS beside each other; prints JSON, line by "
      "line. ./ladder peers makes tables of it.",
      "peers");
  app.add_option("shapes", o.shapes, "MxNxK, or N for N x N x N")->required();
  app.add_option("--type", o.type, "of A, B and C")
      ->check(CLI::IsMember({"fp16", "fp32"}))
      ->capture_default_str();
  app.add_option("--milliseconds", o.milliseconds, "of the last, precise race of a shape")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--budget", o.budget_seconds, "begins no shape after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--only", o.only, "families beside cuBLAS, by the beginnings of their names")
      ->allow_extra_args(false);
  app.add_option("--leave-out", o.leave_out, "\"FAMILY: NAME\" that is not to be run")
      ->allow_extra_args(false);
  app.add_flag("!--no-configurations", o.configurations,
               "of a stage only what its own launcher chooses");
  harness::add_seed_and_device(app, o.seed, o.device);
  if (!harness::parse_arguments(app, argc, argv)) return std::nullopt;
  return o;
}

}  // namespace
}  // namespace ladder::peers

int main(int argc, char** argv) {
  using namespace ladder;
  return harness::run_program("peers", [&] {
    const auto options = peers::parse(argc, argv);
    if (!options) return;
    std::vector<harness::Shape> shapes;
    for (const std::string& text : options->shapes) shapes.push_back(peers::parse_shape(text));
    const harness::Device device = harness::select_device(options->device, 90, /*no_other*/ true);
    if (options->type == "fp16")
      peers::run_all<half, half>(*options, shapes, device);
    else
      peers::run_all<float, float>(*options, shapes, device);
  });
}
