#pragma once
// The CPU device's stand-in for CUDA's header: float4, short2, uchar3 and the like, make_float4,
// and dim3.

// Of two or four, copied as a whole, so that the compiler sees one access as a GPU does, not four.
template <class T>
struct alignas(2 * sizeof(T)) Vector2 {
  typedef T Whole __attribute__((vector_size(2 * sizeof(T))));
  union {
    struct {
      T x, y;
    };
    Whole whole;
  };
  Vector2() = default;
  Vector2(T x0, T y0) : x(x0), y(y0) {}
  Vector2(const Vector2& other) : whole(other.whole) {}
  Vector2& operator=(const Vector2& other) {
    whole = other.whole;
    return *this;
  }
};
template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  typedef T Whole __attribute__((vector_size(4 * sizeof(T))));
  union {
    struct {
      T x, y, z, w;
    };
    Whole whole;
  };
  Vector4() = default;
  Vector4(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
  Vector4(const Vector4& other) : whole(other.whole) {}
  Vector4& operator=(const Vector4& other) {
    whole = other.whole;
    return *this;
  }
};
// Of 32 bytes: two accesses of 16.
template <class T>
struct alignas(16) LongVector4 {
  typedef T Half __attribute__((vector_size(16)));
  union {
    struct {
      T x, y, z, w;
    };
    struct {
      Half low, high;
    };
  };
  LongVector4() = default;
  LongVector4(T x0, T y0, T z0, T w0) : x(x0), y(y0), z(z0), w(w0) {}
  LongVector4(const LongVector4& other) : low(other.low), high(other.high) {}
  LongVector4& operator=(const LongVector4& other) {
    low = other.low;
    high = other.high;
    return *this;
  }
};
// Of one or three: accesses of one at a time.
template <class T>
struct Vector1 {
  T x;
};
template <class T>
struct Vector3 {
  T x, y, z;
};

#define LADDER_VECTORS(name, T, Four)                 \
  using name##1 = Vector1<T>;                         \
  using name##2 = Vector2<T>;                         \
  using name##3 = Vector3<T>;                         \
  using name##4 = Four<T>;                            \
  inline name##1 make_##name##1(T x) {                \
    return {x};                                       \
  }                                                   \
  inline name##2 make_##name##2(T x, T y) {           \
    return {x, y};                                    \
  }                                                   \
  inline name##3 make_##name##3(T x, T y, T z) {      \
    return {x, y, z};                                 \
  }                                                   \
  inline name##4 make_##name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                              \
  }
LADDER_VECTORS(char, signed char, Vector4)
LADDER_VECTORS(uchar, unsigned char, Vector4)
LADDER_VECTORS(short, short, Vector4)
LADDER_VECTORS(ushort, unsigned short, Vector4)
LADDER_VECTORS(int, int, Vector4)
LADDER_VECTORS(uint, unsigned, Vector4)
LADDER_VECTORS(float, float, Vector4)
LADDER_VECTORS(long, long, LongVector4)
LADDER_VECTORS(ulong, unsigned long, LongVector4)
LADDER_VECTORS(longlong, long long, LongVector4)
LADDER_VECTORS(ulonglong, unsigned long long, LongVector4)
LADDER_VECTORS(double, double, LongVector4)
#undef LADDER_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x0 = 1, unsigned y0 = 1, unsigned z0 = 1) : x(x0), y(y0), z(z0) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  operator uint3() const { return {x, y, z}; }
};
