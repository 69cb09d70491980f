static void check(grader::Exercise& exercise) {
  // All magnitudes: code 0 to 0x7E, in order.
  const auto value_of = [](int code) {
    const int exponent = code >> 3, fraction = code & 7;
    return exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
  };
  const auto nearest = [value_of](float x) {
    if (std::isnan(x)) return 0x7F;
    const double magnitude = std::abs(static_cast<double>(x));
    int code = 0;
    while (code < 0x7E) {
      const double middle = (value_of(code) + value_of(code + 1)) / 2;
      if (magnitude < middle || (magnitude == middle && code % 2 == 0)) break;
      ++code;
    }
    return std::signbit(x) ? code | 0x80 : code;
  };
  const auto add = [&](const std::string& name, const std::vector<float>& numbers) {
    exercise.add(name, [=](grader::Case& c) {
      const int n = static_cast<int>(numbers.size());
      const auto in = c.input_of<float>(
          "in", 1, n, [&](int, int i) { return numbers[static_cast<size_t>(i)]; });
      const auto out = c.output<int>("out", 1, n);
      c.launch(kernels::convert_kernel, dim3(ceil_div(n, 128)), dim3(128), 0, n, in.data, out.data);
      c.expect(out, 0, [&](int, int i) { return nearest(in(i)); });
    });
  };

  std::vector<float> exact, middles, beside, beyond = {449, 463.9f, 464, 465, 480, 1e6f, INFINITY};
  for (int code = 0; code < 0x7F; ++code) exact.push_back(static_cast<float>(value_of(code)));
  for (int code = 0; code < 0x7E; ++code) {
    const auto middle = static_cast<float>((value_of(code) + value_of(code + 1)) / 2);
    middles.push_back(middle);
    beside.push_back(middle * (1 - 0x1p-20f));
    beside.push_back(middle * (1 + 0x1p-20f));
  }
  for (std::vector<float>* all : {&exact, &middles, &beside, &beyond})
    for (size_t i = 0, n = all->size(); i < n; ++i) all->push_back(-(*all)[i]);
  add("the numbers of e4m3", exact);
  add("halfway between two", middles);
  add("beside halfway", beside);
  add("beyond 448", beyond);
  add("tiny", {0x1p-10f, 0x1p-11f, 0x1p-30f, 1e-40f, -0x1p-11f});
  add("not a number", {NAN});
  exercise.add("1000 drawn", [=](grader::Case& c) {
    const auto in = c.input<float>("in", 1, 1000, 0, [](uint64_t bits) {
      return std::ldexp(grader::uniform<float>(bits), static_cast<int>(bits % 22) - 12);
    });
    const auto out = c.output<int>("out", 1, 1000);
    c.launch(kernels::convert_kernel, dim3(8), dim3(128), 0, 1000, in.data, out.data);
    c.expect(out, 0, [&](int, int i) { return nearest(in(i)); });
  });
}
