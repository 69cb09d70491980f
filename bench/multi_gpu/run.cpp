#include "run.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "case.h"
#include "harness/command_line.h"
#include "harness/device.h"
#include "harness/harness.h"
#include "harness/options.h"
#include "harness/output.h"
#include "harness/statistics.h"

namespace ladder::multi_gpu {
namespace {

using harness::UsageError;

struct Options {
  int ranks = 0;  // 0: one a GPU
  std::vector<Size> sizes;
  std::vector<std::string> variants;
  bool check = false;
  int random = 0;    // shapes to check
  int stress = 0;    // calls one after the other
  int rounds = 0;    // of timing
  int calls = 1;     // in each measurement
  int rest = 0;      // milliseconds before each measurement
  int timeline = 0;  // calls whose flags are observed
  uint64_t seed = 1;
  int patience = 60;
  std::string json;
};

// Lines of rank 0 are the job's.
template <class... Args>
void say(const Rank& rank, fmt::format_string<Args...> format, Args&&... args) {
  if (rank.ranks.own != 0) return;
  fmt::print(format, std::forward<Args>(args)...);
  fmt::print("\n");
  std::fflush(stdout);
}

const char* operation_name(Operation operation) {
  return operation == Operation::ALL_GATHER ? "all-gather" : "reduce-scatter";
}
std::string size_name(Size size) {
  return fmt::format("{}x{}x{}", size.m, size.n, size.k);
}

class Session {
 public:
  Session(Rank& rank, const Options& options, const std::vector<Variant>& all)
      : rank_(rank), options_(options) {
    load_variants();
    for (const Variant& variant : all) {
      const auto& wanted = options.variants;
      const bool found = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
        return variant.name.find(name) != std::string::npos;
      });
      if (!wanted.empty() && !found && variant.part == Part::WHOLE) continue;
      if (variant.needs_nccl && !rank.has_nccl()) {
        if (variant.operation == Operation::ALL_GATHER)
          say(rank, "left out: {} (NCCL refuses {} ranks on {} GPU{})", variant.name,
              rank.ranks.count, rank.devices, rank.devices == 1 ? "" : "s");
        continue;
      }
      variants_.push_back(&variant);
    }
  }

  // Every variant on one shape, twice: both of the link's buffers, two versions of the data.
  void check(Size size, bool print) {
    for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER}) {
      rank_.meeting.begin("preparing " + size_name(size));
      const Case problem(rank_, cublas_, operation, size, Values::EXACT, 2, options_.seed);
      unsigned before = 0;
      for (const Variant* variant : prepared(problem, size)) {
        if (variant->part != Part::WHOLE) continue;
        rank_.meeting.begin(fmt::format("checking {} of {}", variant->name, size_name(size)));
        for (int version = 0; version < 2; ++version) {
          problem.poison();
          problem.load(version);
          problem.compare(version, variant->run(rank_, cublas_, problem.problem()));
          problem.compare_untouched();
          rank_.wait();
        }
        const unsigned wrong = problem.wrong();
        judge(fmt::format("{} of {}", variant->name, size_name(size)), operation, wrong - before,
              print);
        before = wrong;
      }
      done_with_case();
    }
  }

  // `calls` calls one after the other, with other data each; the host waits for none of them. Then
  // as many of all variants in a random order. Ranks are held up at random.
  void stress(Size size, int calls) {
    constexpr int VERSIONS = 3;  // with two buffers, what a buffer still has is of another version
    for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER}) {
      const Case problem(rank_, cublas_, operation, size, Values::EXACT, VERSIONS, options_.seed);
      std::vector<const Variant*> own;
      for (const Variant* variant : prepared(problem, size))
        if (variant->part == Part::WHOLE) own.push_back(variant);
      problem.poison();
      unsigned before = 0;
      for (size_t i = 0; i <= own.size() && !own.empty(); ++i) {
        const std::string name = i < own.size() ? own[i]->name : "all in random order";
        std::minstd_rand order(static_cast<unsigned>(options_.seed));  // the same for all ranks
        std::minstd_rand delay(static_cast<unsigned>(rank_.ranks.own) + 17);
        rank_.meeting.begin(fmt::format("{} calls of {}, {}", calls, name, size_name(size)));
        for (int call = 0; call < calls; ++call) {
          const Variant& variant = *own[i < own.size() ? i : order() % own.size()];
          if (delay() % 4 == 0) spin(static_cast<int64_t>(delay() % 200) * 1000, rank_.stream);
          problem.load(call % VERSIONS);
          problem.compare(call % VERSIONS, variant.run(rank_, cublas_, problem.problem()));
        }
        rank_.wait();
        const unsigned wrong = problem.wrong();
        judge(fmt::format("{} calls of {}, {}", calls, name, size_name(size)), operation,
              wrong - before, true);
        before = wrong;
      }
      done_with_case();
    }
  }

  void random_shapes(int count) {
    std::minstd_rand random(static_cast<unsigned>(options_.seed));
    const auto draw = [&] {
      const unsigned largest = random() % 2 == 0 ? 300 : LARGEST_RANDOM;
      return 1 + static_cast<int>(random() % largest);
    };
    const int before = failures_;
    for (int i = 0; i < count; ++i) {
      const int m = draw(), n = draw(), k = draw();
      check({m, n, k}, false);
    }
    say(rank_, "check   {} random shapes: {}", count,
        failures_ == before ? "equal" : fmt::format("{} WRONG", failures_ - before));
  }
  static constexpr int LARGEST_RANDOM = 2000;

  // All variants in turn, each round beginning with another.
  void time(Size size) {
    for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER}) {
      rank_.meeting.begin("preparing " + size_name(size));
      const Case problem(rank_, cublas_, operation, size, Values::UNIFORM, 1, options_.seed);
      const std::vector<const Variant*> timed = prepared(problem, size);
      problem.fill_buffers();
      problem.load(0);
      std::vector<unsigned> wrong(timed.size());
      unsigned before = 0;
      for (size_t i = 0; i < timed.size(); ++i) {
        rank_.meeting.begin(fmt::format("{} of {}", timed[i]->name, size_name(size)));
        problem.poison();
        problem.fill_buffers();
        const half* const result = timed[i]->run(rank_, cublas_, problem.problem());
        if (result != nullptr) problem.compare(0, result);
        wrong[i] = problem.wrong() - before;
        before += wrong[i];
        if (result != nullptr)
          judge(fmt::format("{} of {}, uniform", timed[i]->name, size_name(size)), operation,
                wrong[i], false);
      }
      problem.fill_buffers();
      cudaEvent_t start = nullptr, end = nullptr;
      LADDER_CUDA_CHECK(cudaEventCreate(&start));
      LADDER_CUDA_CHECK(cudaEventCreate(&end));
      std::vector<std::vector<float>> ms(timed.size());
      for (int round = -2; round < options_.rounds; ++round)  // the first two are not counted
        for (size_t i = 0; i < timed.size(); ++i) {
          const size_t which = (i + static_cast<size_t>(round + 2)) % timed.size();
          rank_.meeting.begin(fmt::format("timing {} of {}", timed[which]->name, size_name(size)));
          if (options_.rest > 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(options_.rest));
          rank_.enqueue_gate();
          LADDER_CUDA_CHECK(cudaEventRecord(start, rank_.stream));
          for (int call = 0; call < options_.calls; ++call)
            timed[which]->run(rank_, cublas_, problem.problem());
          LADDER_CUDA_CHECK(cudaEventRecord(end, rank_.stream));
          rank_.open_gate();
          rank_.wait();
          float elapsed = 0;
          LADDER_CUDA_CHECK(cudaEventElapsedTime(&elapsed, start, end));
          if (round >= 0) ms[which].push_back(elapsed / static_cast<float>(options_.calls));
        }
      LADDER_CUDA_CHECK(cudaEventDestroy(start));
      LADDER_CUDA_CHECK(cudaEventDestroy(end));
      report(size, operation, timed, ms);
      done_with_case();
    }
  }

  // When what has come and what is finished, as a stream sees it that waits for the flags beside
  // the others: of every variant that raises any, in microseconds since the common start, medians.
  void timeline(Size size, int calls) {
    std::array<cudaStream_t, 2> spies{};  // one for each kind of flag: they are raised in no order
    for (cudaStream_t& spy : spies)
      LADDER_CUDA_CHECK(cudaStreamCreateWithFlags(&spy, cudaStreamNonBlocking));
    for (const Operation operation : {Operation::ALL_GATHER, Operation::REDUCE_SCATTER}) {
      rank_.meeting.begin("preparing " + size_name(size));
      const Case problem(rank_, cublas_, operation, size, Values::UNIFORM, 1, options_.seed);
      problem.load(0);
      for (const Variant* variant : prepared(problem, size)) {
        if (variant->part != Part::WHOLE) continue;
        // NCCL and cuBLAS raise no flags, and set themselves up in their first call, which waits
        // for the GPU: behind the gate for ever.
        if (variant->needs_nccl) continue;
        std::vector<std::string> names;
        std::vector<std::vector<double>> times;
        for (int call = -2; call < calls; ++call)
          observe(*variant, problem, size, spies, call >= 0, names, times);
        if (names.size() < 2) continue;
        say(rank_, "times   {} {} of {}, us:", operation_name(operation), variant->name,
            size_name(size));
        nlohmann::ordered_json entry{{"operation", operation_name(operation)},
                                     {"variant", variant->name},
                                     {"m", size.m},
                                     {"n", size.n},
                                     {"k", size.k},
                                     {"times", nlohmann::ordered_json::array()}};
        for (size_t i = 0; i < names.size(); ++i) {
          const double us = harness::summarize(times[i]).median * 1000;
          say(rank_, "  {:7.1f} {}", us, names[i]);
          entry["times"].push_back({{"what", names[i]}, {"us", us}});
        }
        json_["timelines"].push_back(entry);
      }
      done_with_case();
    }
    for (const cudaStream_t spy : spies) LADDER_CUDA_CHECK(cudaStreamDestroy(spy));
  }

  int failures() const { return failures_; }
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  // The variants of the problem's operation. One that any rank cannot prepare is named and left
  // out.
  std::vector<const Variant*> prepared(const Case& problem, Size size) {
    std::vector<const Variant*> result;
    for (const Variant* variant : variants_) {
      if (variant->operation != problem.operation()) continue;
      std::string failure;
      if (variant->prepare != nullptr) {
        rank_.meeting.begin(fmt::format("preparing {} of {}", variant->name, size_name(size)));
        try {
          variant->prepare(rank_, problem.problem());
          rank_.wait();
        } catch (const std::exception& e) {
          failure = e.what();
        }
        for (const std::string& other : rank_.meeting.exchange(failure))
          if (failure.empty()) failure = other;
      }
      if (failure.empty())
        result.push_back(variant);
      else
        say(rank_, "left out: {} {} of {}: {}", operation_name(problem.operation()), variant->name,
            size_name(size), failure);
    }
    return result;
  }

  // One call of timeline()'s.
  void observe(const Variant& variant, const Case& problem, Size size,
               const std::array<cudaStream_t, 2>& spies, bool keep, std::vector<std::string>& names,
               std::vector<std::vector<double>>& times) {
    constexpr int PARTS = 4;  // of what is counted, each of which is waited for
    rank_.meeting.begin(fmt::format("observing {} of {}", variant.name, size_name(size)));
    const Link before = rank_.link;
    rank_.enqueue_gate();
    cudaEvent_t start = nullptr, end = nullptr;
    LADDER_CUDA_CHECK(cudaEventCreate(&start));
    LADDER_CUDA_CHECK(cudaEventCreate(&end));
    LADDER_CUDA_CHECK(cudaEventRecord(start, rank_.stream));
    for (const cudaStream_t spy : spies) LADDER_CUDA_CHECK(cudaStreamWaitEvent(spy, start));
    variant.run(rank_, cublas_, problem.problem());
    LADDER_CUDA_CHECK(cudaEventRecord(end, rank_.stream));
    std::vector<std::pair<std::string, cudaEvent_t>> seen;
    const auto watch = [&](cudaStream_t spy, const std::string& what, const uint32_t* word,
                           uint32_t from, uint32_t to) {
      for (uint32_t part = 1; part <= PARTS && to != from; ++part) {
        const uint32_t value = from + (to - from) * part / PARTS;
        if (part < PARTS && to - from < PARTS) continue;
        cudaEvent_t event = nullptr;
        LADDER_CUDA_CHECK(cudaEventCreate(&event));
        ptx::stream_wait_value(spy, word, value);
        LADDER_CUDA_CHECK(cudaEventRecord(event, spy));
        seen.emplace_back(fmt::format("{} of {} {}", value - from, to - from, what), event);
      }
    };
    const Link& link = rank_.link;
    const Flags* const flags = link.own_flags();
    for (int word = 0; word < MAX_RANKS * MAX_CHUNKS; ++word)
      watch(spies[0],
            fmt::format("tiles of chunk {} of turn {} are written", word % MAX_CHUNKS,
                        word / MAX_CHUNKS),
            &flags->finished[word], before.finished[word], link.finished[word]);
    // Of reduce-scatter's, all comes from the next rank.
    const int peers = problem.operation() == Operation::ALL_GATHER
                          ? rank_.ranks.count - 1
                          : std::min(1, rank_.ranks.count - 1);
    if (variant.name.find("direct") == std::string::npos)
      for (int i = 1; i <= peers; ++i)
        watch(spies[1], fmt::format("have come from rank {}", rank_.ranks.after(i)),
              &flags->arrived[rank_.ranks.after(i)], before.counted, link.counted);
    seen.emplace_back("the call is complete", end);
    rank_.open_gate();
    rank_.wait();
    for (const cudaStream_t spy : spies) LADDER_CUDA_CHECK(cudaStreamSynchronize(spy));
    times.resize(seen.size());
    names.clear();
    for (size_t i = 0; i < seen.size(); ++i) {
      float ms = 0;
      LADDER_CUDA_CHECK(cudaEventElapsedTime(&ms, start, seen[i].second));
      if (keep) times[i].push_back(ms);
      names.push_back(seen[i].first);
      LADDER_CUDA_CHECK(cudaEventDestroy(seen[i].second));
    }
    LADDER_CUDA_CHECK(cudaEventDestroy(start));
  }

  // A call is as slow as its slowest rank.
  void report(Size size, Operation operation, const std::vector<const Variant*>& timed,
              std::vector<std::vector<float>>& ms) {
    std::vector<harness::Timing> timings;
    for (std::vector<float>& times : ms) {
      std::vector<double> slowest(times.size());
      for (const std::string& bytes : rank_.meeting.exchange(
               std::string(reinterpret_cast<const char*>(times.data()), times.size() * 4)))
        for (size_t i = 0; i < times.size(); ++i) {
          float t = 0;
          std::copy_n(&bytes[i * 4], 4, reinterpret_cast<char*>(&t));
          slowest[i] = std::max<double>(slowest[i], t);
        }
      timings.push_back(harness::summarize(slowest));
    }
    std::map<Part, double> best;
    for (size_t i = 0; i < timed.size(); ++i) {
      double& time = best.try_emplace(timed[i]->part, timings[i].median).first->second;
      time = std::min(time, timings[i].median);
    }
    const double gemm = best[Part::MULTIPLICATION], link = best[Part::COMMUNICATION];
    const double ideal = std::max(gemm, link);
    const int ranks = rank_.ranks.count;
    const double elements = operation == Operation::ALL_GATHER
                                ? static_cast<double>(size.m) * size.k
                                : static_cast<double>(size.m) * size.n;
    // What each rank sends, and gets.
    const double bytes = elements * sizeof(half) * (ranks - 1) / ranks;
    say(rank_, "time    {} {}: multiplication {:.4f} ms, communication {:.4f} ms ({:.0f} GB/s)",
        size_name(size), operation_name(operation), gemm, link, link > 0 ? bytes / link / 1e6 : 0);
    nlohmann::ordered_json entry{{"m", size.m},
                                 {"n", size.n},
                                 {"k", size.k},
                                 {"operation", operation_name(operation)},
                                 {"multiplication_ms", gemm},
                                 {"communication_ms", link},
                                 {"bytes_per_rank", bytes},
                                 {"ideal_ms", ideal},
                                 {"variants", nlohmann::ordered_json::array()}};
    for (size_t i = 0; i < timed.size(); ++i) {
      const bool whole = timed[i]->part == Part::WHOLE;
      const double percent = 100 * ideal / timings[i].median;
      say(rank_, "  {:28} {:8.4f} ms [{:.4f} .. {:.4f}] {}", timed[i]->name, timings[i].median,
          timings[i].p10, timings[i].p90, whole ? fmt::format("{:5.1f}%", percent) : "");
      nlohmann::ordered_json variant{{"name", timed[i]->name},
                                     {"ms", timings[i].median},
                                     {"p10_ms", timings[i].p10},
                                     {"p90_ms", timings[i].p90}};
      if (whole) variant["percent_of_ideal"] = percent;
      entry["variants"].push_back(variant);
    }
    json_["timings"].push_back(entry);
  }

  void judge(const std::string& what, Operation operation, unsigned wrong, bool print) {
    unsigned all = 0;
    std::string where;
    const std::vector<std::string> counts = rank_.meeting.exchange(std::to_string(wrong));
    for (size_t r = 0; r < counts.size(); ++r)
      if (counts[r] != "0") {
        all += static_cast<unsigned>(std::stoul(counts[r]));
        where += fmt::format(" {} on rank {},", counts[r], r);
      }
    if (all > 0) {
      ++failures_;
      where.back() = '.';
      say(rank_, "check   {} {}: WRONG:{}", operation_name(operation), what, where);
    } else if (print) {
      say(rank_, "check   {} {}: equal", operation_name(operation), what);
    }
    json_["checks"].push_back(
        {{"what", what}, {"operation", operation_name(operation)}, {"wrong", all}});
  }

  // Nobody frees what another may still read.
  void done_with_case() {
    rank_.wait();
    rank_.meeting.barrier();
  }

  Rank& rank_;
  const Options& options_;
  harness::Cublas cublas_;
  std::vector<const Variant*> variants_;
  int failures_ = 0;
  nlohmann::ordered_json json_;
};

// For the tests of what happens when a rank fails: "1:throw" and the like.
void misbehave(const Rank& rank) {
  const char* const fault = std::getenv("LADDER_FAULT");
  if (fault == nullptr) return;
  const std::string text = fault, own = std::to_string(rank.ranks.own) + ":";
  if (text == own + "throw") throw std::runtime_error(rank.meeting.name() + ": told to fail");
  if (text == own + "exit") _exit(harness::EXIT_FAILED);
  if (text == own + "hang")
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

int run_rank(const Options& options, const std::vector<Variant>& all, const std::string& job,
             int ranks, int own, int local) {
  Meeting meeting(job, ranks, own, std::chrono::seconds(options.patience));
  int failures = 0;
  try {
    std::string asked;
    for (Size size : options.sizes) asked += " " + size_name(size);
    const char* const fault = std::getenv("LADDER_FAULT");
    if (fault != nullptr && fault == std::to_string(own) + ":shape") asked += " 1x1x1";
    meeting.require_same(
        "what to do",
        fmt::format("{} of{}, check {}, random {}, stress {}, rounds {}, times {}",
                    fmt::join(options.variants, ", "), asked, options.check, options.random,
                    options.stress, options.rounds, options.timeline));
    meeting.begin("setting up the GPU");
    Rank rank(meeting, local);
    say(rank, "{} ranks on {} {}; {}", ranks, std::min(ranks, rank.devices), rank.gpu,
        ranks == 1 ? "one rank alone has nobody to talk to" : "every rank's part is checked");
    LinkSize link{0, 0};
    std::vector<Size> sizes = options.sizes;
    if (options.random > 0)
      sizes.push_back({Session::LARGEST_RANDOM, Session::LARGEST_RANDOM, Session::LARGEST_RANDOM});
    for (const Size size : sizes) {
      const LinkSize one = link_size(size.m, size.n, size.k, ranks);
      link = {std::max(link.bytes, one.bytes), std::max(link.tile_flags, one.tile_flags)};
    }
    rank.make_link(link.bytes, link.tile_flags);
    {
      Session session(rank, options, all);
      meeting.begin("beginning");
      misbehave(rank);
      if (options.check)
        for (const Size size : options.sizes) session.check(size, true);
      if (options.random > 0) session.random_shapes(options.random);
      if (options.stress > 0)
        for (const Size size : options.sizes) session.stress(size, options.stress);
      if (options.rounds > 0)
        for (const Size size : options.sizes) session.time(size);
      if (options.timeline > 0)
        for (const Size size : options.sizes) session.timeline(size, options.timeline);
      failures = session.failures();
      if (own == 0 && !options.json.empty()) {
        nlohmann::ordered_json json{{"gpu", rank.gpu},
                                    {"ranks", ranks},
                                    {"gpus", std::min(ranks, rank.devices)},
                                    {"processes", job.rfind("threads", 0) == 0 ? 1 : ranks},
                                    {"rounds", options.rounds},
                                    {"calls", options.calls},
                                    {"rest_ms", options.rest}};
        int version = 0;
        if (rank.has_nccl() && ncclGetVersion(&version) == ncclSuccess) json["nccl"] = version;
        json.update(session.json());
        harness::write_whole(options.json, json.dump(2) + "\n");
      }
    }
    meeting.begin("ending");
  } catch (const harness::NoDevice& e) {
    fail(e.what(), harness::EXIT_NO_DEVICE);
  } catch (const std::exception& e) {
    fail(e.what());
  }
  meeting.leave();
  return failures == 0 ? harness::EXIT_OK : harness::EXIT_FAILED;
}

Size parse_size(const std::string& text) {
  Size size{};
  char end = 0;
  if (std::sscanf(text.c_str(), "%dx%dx%d%c", &size.m, &size.n, &size.k, &end) != 3 ||
      std::min({size.m, size.n, size.k}) < 0 ||
      std::max({size.m, size.n, size.k}) > harness::LARGEST_SIZE)
    throw UsageError("--shape: '" + text + "' is not MxNxK");
  return size;
}

int run_options(const std::string& stage, std::vector<std::string> variants,
                const std::vector<Variant>& all, int argc, char** argv) {
  Options options;
  std::vector<std::string> shapes{"8192x8192x8192", "16384x8192x8192", "4096x4096x4096",
                                  "4096x11008x4096", "8192x2048x8192"};
  CLI::App app{stage + ": GEMM by several GPUs, one rank each"};
  options.variants = std::move(variants);
  app.add_option("--ranks", options.ranks, "ranks in this process; as many as there are GPUs");
  app.add_option("--shape", shapes, "MxNxK, several times for several");
  app.add_option("--variant", options.variants, "only those whose name contains this");
  app.add_flag("--check", options.check, "every variant on every shape, with exact data");
  app.add_option("--random", options.random, "check this many random shapes");
  app.add_option("--stress", options.stress, "this many calls one after the other");
  app.add_option("--rounds", options.rounds, "time everything this many times");
  app.add_option("--calls", options.calls, "calls in each measurement")->check(CLI::Range(1, 100));
  app.add_option("--rest", options.rest, "milliseconds to wait before each measurement")
      ->check(CLI::Range(0, 10000));
  app.add_option("--timeline", options.timeline, "observe the flags of this many calls");
  app.add_option("--seed", options.seed, "of the data");
  app.add_option("--timeout", options.patience, "seconds that any step may take")
      ->check(CLI::Range(1, 86400));
  harness::add_output_file(app, "--json", options.json, "write what was measured to this file");
  if (!harness::parse_arguments(app, argc, argv)) return harness::EXIT_OK;
  if (!options.json.empty()) harness::require_writable("--json", options.json);
  for (const std::string& shape : shapes) options.sizes.push_back(parse_size(shape));
  if (!options.check && options.random == 0 && options.stress == 0 && options.rounds == 0 &&
      options.timeline == 0)
    options.check = true, options.rounds = 40;

  const Launched launched = launched_as();
  if (launched.ranks > 0) {
    if (options.ranks > 0)
      throw UsageError("--ranks: a launcher has said how many ranks there are");
    if (launched.ranks > MAX_RANKS || launched.rank < 0 || launched.rank >= launched.ranks)
      throw UsageError(fmt::format("rank {} of {}, but there may be {} ranks", launched.rank,
                                   launched.ranks, MAX_RANKS));
    return run_rank(options, all, launched.job, launched.ranks, launched.rank, launched.local_rank);
  }
  int ranks = options.ranks;
  if (ranks == 0 && (cudaGetDeviceCount(&ranks) != cudaSuccess || ranks == 0))
    throw harness::NoDevice("no usable GPU");
  if (ranks < 1 || ranks > MAX_RANKS)
    throw UsageError(fmt::format("--ranks: there may be 1 to {}", MAX_RANKS));
  // A thread does for its rank what a process would.
  const std::string job = fmt::format("threads.{}", getpid());
  std::vector<int> codes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        codes[static_cast<size_t>(rank)] = run_rank(options, all, job, ranks, rank, rank);
      } catch (const std::exception& e) {
        fail(e.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(codes.begin(), codes.end());
}

}  // namespace

int run(const std::string& stage, const std::vector<std::string>& variants, int argc, char** argv,
        const std::vector<Variant>& more) {
  // Streams that wait must not hold up others that share a channel with them.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  try {
    std::vector<Variant> all = all_variants();
    all.insert(all.end(), more.begin(), more.end());
    return run_options(stage, variants, all, argc, argv);
  } catch (const UsageError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return harness::EXIT_BAD_INPUT;
  } catch (const harness::NoDevice& e) {
    fmt::print(stderr, "{}\n", e.what());
    return harness::EXIT_NO_DEVICE;
  } catch (const std::exception& e) {
    fail(e.what());
  }
}

}  // namespace ladder::multi_gpu
