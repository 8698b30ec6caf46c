// Compares the lookup of a generated header, in namespace TABLE, with the answers in a file: one
// byte for each point of the grid in grid.h. As CUDA code on a machine with a GPU, on that too.
// Compiled by src/allreduce/codegen/header_test.cc, as C++ and as CUDA.
#include "strategy_table.h"
// Twice: the guard.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "grid.h"

namespace table = TABLE;

// The lookup is usable where C++ wants a constant.
static_assert(table::message_bytes(3, 5, table::DataType::kFloat32) == 60);
constexpr table::Strategy kSome =
    table::lookup(2, table::Fusion::kNone, table::DataType::kBfloat16, 4096, 1);

struct Point {
  long long world_size;
  long long fusion;
  long long data_type;
  long long hidden_size;
  long long num_tokens;
};

#if defined(__CUDACC__)
#  define TABLE_FUNCTION __host__ __device__
#else
#  define TABLE_FUNCTION
#endif

TABLE_FUNCTION table::Strategy answer(const Point& point) {
  return table::lookup(point.world_size, static_cast<table::Fusion>(point.fusion),
                       static_cast<table::DataType>(point.data_type), point.hidden_size,
                       point.num_tokens);
}

static std::vector<Point> grid() {
  std::vector<Point> points;
  for (const long long world_size : kWorldSizes)
    for (const long long fusion : kFusions)
      for (const long long data_type : kDataTypes)
        for (const long long hidden_size : kSizes)
          for (const long long num_tokens : kSizes)
            points.push_back({world_size, fusion, data_type, hidden_size, num_tokens});
  return points;
}

static int compare(const char* where,
                   const std::vector<Point>& points,
                   const std::vector<table::Strategy>& actual,
                   const std::vector<unsigned char>& expected) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (static_cast<unsigned char>(actual[i]) == expected[i]) continue;
    const Point& p = points[i];
    std::printf("%s: tp %lld fusion %lld type %lld hidden %lld tokens %lld: %s, not %d\n", where,
                p.world_size, p.fusion, p.data_type, p.hidden_size, p.num_tokens,
                table::name_of(actual[i]), expected[i]);
    return 1;
  }
  std::printf("%s: %zu points agree\n", where, points.size());
  return 0;
}

#if defined(__CUDACC__)
__global__ void answer_all(const Point* points, table::Strategy* answers, std::size_t count) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) answers[i] = answer(points[i]);
}

static int compare_on_gpu(const std::vector<Point>& points,
                          const std::vector<unsigned char>& expected) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::printf("GPU: there is none\n");
    return 0;
  }
  const std::size_t count = points.size();
  Point* on_gpu = nullptr;
  table::Strategy* answers = nullptr;
  std::vector<table::Strategy> actual(count);
  cudaMalloc(&on_gpu, count * sizeof(Point));
  cudaMalloc(&answers, count * sizeof(table::Strategy));
  cudaMemcpy(on_gpu, points.data(), count * sizeof(Point), cudaMemcpyHostToDevice);
  answer_all<<<static_cast<unsigned>(count / 256 + 1), 256>>>(on_gpu, answers, count);
  cudaMemcpy(actual.data(), answers, count * sizeof(table::Strategy), cudaMemcpyDeviceToHost);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("GPU: %s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaFree(on_gpu);
  cudaFree(answers);
  return compare("GPU", points, actual, expected);
}
#endif

int main(int count, char** arguments) {
  std::FILE* file = count == 2 ? std::fopen(arguments[1], "rb") : nullptr;
  if (file == nullptr) return 2;
  const std::vector<Point> points = grid();
  std::vector<unsigned char> expected(points.size());
  const std::size_t got = std::fread(expected.data(), 1, expected.size(), file);
  const bool whole = got == expected.size() && std::fgetc(file) == EOF;
  std::fclose(file);
  if (!whole) return 2;
  std::vector<table::Strategy> actual;
  for (const Point& point : points)
    actual.push_back(answer(point));
  if (compare("host", points, actual, expected) != 0) return 1;
#if defined(__CUDACC__)
  if (compare_on_gpu(points, expected) != 0) return 1;
#endif
  return kSome == answer({2, 0, 0, 4096, 1}) ? 0 : 1;
}
