#include "harness/options.h"

#include <gtest/gtest.h>

namespace ladder::harness {
namespace {

std::optional<Options> parse(std::vector<const char*> arguments, Target target = Target::GPU) {
  arguments.insert(arguments.begin(), "stage");
  return parse_options("stage", {"first", "second", "third"}, target,
                       static_cast<int>(arguments.size()), arguments.data());
}

// The one-line message of a refused command line.
std::string message(const std::vector<const char*>& arguments) {
  try {
    parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Options, Defaults) {
  const Options o = *parse({});
  EXPECT_EQ(4096, o.m);
  EXPECT_EQ(4096, o.n);
  EXPECT_EQ(4096, o.k);
  EXPECT_EQ((std::vector<std::string>{"first", "second", "third"}), o.variants);
  EXPECT_EQ(1u, o.seed);
  EXPECT_FALSE(o.iterations);
  EXPECT_FALSE(o.reference);
  EXPECT_TRUE(o.check);
  EXPECT_EQ(Data::UNIFORM, o.data);
  EXPECT_FALSE(o.sustained || o.profile || o.list);
  EXPECT_TRUE(o.json.empty());
  EXPECT_EQ(0, o.device);
}

TEST(Options, EveryValueArrives) {
  const Options o = *parse({"--m",        "1",       "--n",          "2",
                            "--k",        "3",       "--seed",       "18446744073709551615",
                            "--warmup",   "4",       "--iterations", "5",
                            "--no-check", "--exact", "--sustained",  "--json",
                            "a b.json",   "--list",  "--device",     "6"});
  EXPECT_EQ(1, o.m);
  EXPECT_EQ(2, o.n);
  EXPECT_EQ(3, o.k);
  EXPECT_EQ(UINT64_MAX, o.seed);
  EXPECT_EQ(4, o.warmup);
  EXPECT_EQ(5, o.iterations);
  EXPECT_FALSE(o.check);
  EXPECT_EQ(Data::EXACT, o.data);
  EXPECT_TRUE(o.sustained && o.list);
  EXPECT_EQ("a b.json", o.json);
  EXPECT_EQ(6, o.device);
}

TEST(Options, TheCpuHasItsOwn) {
  const Options o = *parse({}, Target::CPU);
  EXPECT_EQ(256, o.m);
  EXPECT_TRUE(o.memory);
  EXPECT_FALSE(parse({"--no-memory"}, Target::CPU)->memory);
  EXPECT_TRUE(parse({"--digest"}, Target::CPU)->digest);
  EXPECT_THROW(parse({"--sustained"}, Target::CPU), UsageError);
  EXPECT_THROW(parse({"--iterations", "3"}, Target::CPU), UsageError);
  EXPECT_THROW(parse({"--memory"}, Target::GPU), UsageError);
}

TEST(Options, LayoutIsOneOfFour) {
  EXPECT_FALSE(parse({})->layout);
  EXPECT_EQ((Layout{false, false}), *parse({"--layout", "NN"})->layout);
  EXPECT_EQ((Layout{false, true}), *parse({"--layout", "NT"})->layout);
  EXPECT_EQ((Layout{true, false}), *parse({"--layout", "TN"})->layout);
  EXPECT_EQ((Layout{true, true}), *parse({"--layout", "TT"}, Target::CPU)->layout);
  EXPECT_THROW(parse({"--layout", "tn"}), UsageError);
  for (const Layout layout : LAYOUTS) EXPECT_EQ(layout, *parse({"--layout", name(layout)})->layout);
}

TEST(Options, TypeIsOneOfTheStages) {
  const auto type = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "stage");
    return parse_options("stage", {"first"}, Target::GPU, static_cast<int>(arguments.size()),
                         arguments.data(), {}, {"fp16", "bf16"})
        ->type;
  };
  EXPECT_EQ("fp16", type({}));
  EXPECT_EQ("bf16", type({"--type", "bf16"}));
  EXPECT_THROW(type({"--type", "e4m3"}), UsageError);
}

TEST(Options, ReferenceIsOneOfTwo) {
  EXPECT_EQ(Reference::BEST, parse({"--reference", "best"})->reference);
  EXPECT_EQ(Reference::CUBLAS, parse({"--reference", "cublas"})->reference);
  EXPECT_THROW(parse({"--reference", "best"}, Target::CPU), UsageError);
}

TEST(Options, DataIsOneOfFour) {
  for (const Target target : {Target::GPU, Target::CPU}) {
    EXPECT_EQ(Data::UNIFORM, parse({"--data", "random"}, target)->data);
    EXPECT_EQ(Data::EXACT, parse({"--data", "exact"}, target)->data);
    EXPECT_EQ(Data::ZEROS, parse({"--data", "zeros"}, target)->data);
    EXPECT_EQ(Data::CONSTANT, parse({"--data", "constant"}, target)->data);
    EXPECT_EQ(Data::EXACT, parse({"--exact"}, target)->data);
  }
}

TEST(Options, SizeSetsAllThree) {
  const Options o = *parse({"--size", "77"});
  EXPECT_EQ(77, o.m);
  EXPECT_EQ(77, o.n);
  EXPECT_EQ(77, o.k);
}

TEST(Options, VariantsKeepTheStagesOrder) {
  EXPECT_EQ((std::vector<std::string>{"first", "third"}),
            parse({"--variant", "third", "first"})->variants);
  EXPECT_EQ((std::vector<std::string>{"second"}), parse({"--variant", "second"})->variants);
}

TEST(Options, AProofHasWideDataAndAllThatIsChosenAmong) {
  const auto proof = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"stage", "--prove"});
    return *parse_options("stage", {"first", "second"}, Target::GPU,
                          static_cast<int>(arguments.size()), arguments.data(), {"tile"});
  };
  EXPECT_EQ(Data::WIDE, proof({}).data);
  EXPECT_EQ((std::vector<std::string>{"first", "second", "tile"}), proof({}).variants);
  EXPECT_EQ((std::vector<std::string>{"second"}), proof({"--variant", "second"}).variants);
  EXPECT_THROW(parse({"--prove"}, Target::CPU), UsageError);
}

TEST(Options, HelpAndVersionAreServed) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse({"--help"}));
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_NE(help.find("--iterations"), std::string::npos);
  EXPECT_NE(help.find("Exit codes"), std::string::npos);
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse({"--version"}));
  EXPECT_NE(testing::internal::GetCapturedStdout().find("gemm-ladder"), std::string::npos);
}

struct BadInput {
  std::vector<const char*> arguments;
  const char* expected;  // part of the message
};

TEST(Options, EachBadInputHasItsMessage) {
  const std::vector<BadInput> inputs = {
      {{"--m", "0"}, "--m: '0' is not an integer from 1 to 2147482623"},
      {{"--n", "-5"}, "--n: '-5' is not an integer"},
      {{"--k", "12x"}, "--k: '12x' is not an integer"},
      {{"--size", "1.5"}, "--size: '1.5' is not an integer"},
      {{"--size", ""}, "--size: '' is not an integer"},
      {{"--size", "99999999999999999999"}, "is not an integer from 1"},
      {{"--size", "2147482624"}, "is not an integer from 1 to 2147482623"},
      {{"--iterations", "0"}, "--iterations: '0'"},
      {{"--warmup", "0"}, "--warmup: '0'"},
      {{"--seed", "-1"}, "--seed: '-1'"},
      {{"--device", "-1"}, "--device: '-1'"},
      {{"--size", "5", "--m", "3"}, "--size"},
      {{"--bogus"}, "--bogus"},
      {{"extra"}, "extra"},
      {{"--m"}, "--m"},
      {{"--json"}, "--json"},
      {{"--variant", "fourth"}, "no variant 'fourth'; this stage has: first, second, third"},
      {{"--profile", "--sustained"}, "use one of them"},
      {{"--profile", "--reference", "best"}, "use one of them"},
      {{"--prove", "--sustained"}, "--prove does not; use one of them"},
      {{"--prove", "--reference", "best"}, "--prove takes none"},
      {{"--prove", "--profile"}, "--profile excludes --prove"},
      {{"--prove", "--exact"}, "--exact excludes --prove"},
      {{"--prove", "--data", "zeros"}, "--data excludes --prove"},
      {{"--prove", "--no-check"}, "nothing but a check"},
      {{"--data", "ones"}, "--data: 'ones' is none of random, exact, wide, zeros, constant"},
      {{"--data", "zeros", "--exact"}, "--data excludes --exact"},
      {{"--reference", "worst"}, "--reference: 'worst' is none of cublas, best"},
      {{"--reference"}, "--reference"},
  };
  for (const BadInput& input : inputs) {
    const std::string text = message(input.arguments);
    EXPECT_NE(text.find(input.expected), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(Options, GroupsHaveTheRowsThatMIs) {
  EXPECT_TRUE(parse({})->groups.empty());
  const Options groups = *parse({"--groups", "64,0,100"});
  EXPECT_EQ((std::vector<int>{64, 0, 100}), groups.groups);
  EXPECT_EQ(164, groups.m);
  const Options batch = *parse({"--batch", "3", "--m", "40"}, Target::CPU);
  EXPECT_EQ((std::vector<int>{40, 40, 40}), batch.groups);
  EXPECT_EQ(120, batch.m);
  EXPECT_EQ(1u, parse({"--groups", "7"})->groups.size());
  const BadInput inputs[] = {
      {{"--groups", "64,,1"}, "'' is not an integer from 0 to 2147482623"},
      {{"--groups", "64,x"}, "'x' is not an integer"},
      {{"--groups", "64,-1"}, "'-1' is not an integer"},
      {{"--groups", "0,0"}, "0 together"},
      {{"--groups", "2147482623,1"}, "2147482624 together"},
      {{"--groups", "1", "--m", "1"}, "--m excludes --groups"},
      {{"--groups", "1", "--size", "1"}, "--size excludes --groups"},
      {{"--groups", "1", "--batch", "1"}, "excludes"},
      {{"--batch", "0"}, "--batch: '0' is not an integer from 1"},
      {{"--batch", "3", "--m", "1000000000"}, "3 times 1000000000 rows are more than 2147482623"},
      {{"--batch", "1000", "--k", "10000000"}, "the B of all have more than"},
  };
  for (const BadInput& input : inputs) {
    const std::string text = message(input.arguments);
    EXPECT_NE(text.find(input.expected), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

// What is not named is left out, also where a stage has an epilogue of its own.
TEST(Options, AnEpilogueIsWhatItsOptionsSay) {
  EXPECT_FALSE(parse({})->epilogue);
  const EpilogueChoice all = *parse({"--alpha", "0.5", "--beta", "-1e-1", "--bias", "--residual",
                                     "--scale", "row", "--activation", "gelu_erf"})
                                  ->epilogue;
  EXPECT_EQ("gelu_erf(0.5 * row_scale * A * B + -0.1 * addend + bias) + residual", all.formula());
  EXPECT_EQ("A * B + bias", parse({"--bias"}, Target::CPU)->epilogue->formula());
  EXPECT_TRUE(parse({"--activation", "none"})->epilogue->is_product_alone());
  for (const char* number : {"", "x", "1x", "nan", "inf"})
    EXPECT_THROW(parse({"--alpha", number}), UsageError) << number;
  EXPECT_THROW(parse({"--activation", "gelo"}), UsageError);
  EXPECT_THROW(parse({"--scale", "both"}), UsageError);
}

TEST(Options, ZeroPoint) {
  const auto parsed = [](const char* value) {
    const char* const arguments[] = {"stage", "--zero-point", value};
    return parse_options("stage", {"v"}, Target::CPU, 3, arguments)->epilogue->zero_point;
  };
  EXPECT_EQ(-128, parsed("-128"));
  EXPECT_EQ(127, parsed("127"));
  EXPECT_THROW(parsed("128"), UsageError);
  EXPECT_THROW(parsed("1.5"), UsageError);
}

}  // namespace
}  // namespace ladder::harness
