// Written by make_expected.py with NumPy 2.4.6.
#ifndef QKV_TESTS_RANDOM_EXPECTED_H_
#define QKV_TESTS_RANDOM_EXPECTED_H_

#include <cstdint>
#include <limits>
#include <vector>

namespace qkv::random {

inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

struct SeedCase {
  std::uint64_t seed;
  std::vector<double> uniform, normal;
  std::uint64_t uniform_hash, normal_hash;  // of a million
  std::uint64_t permutation_hash;           // of permutation(1000)
};
struct EntropyCase {
  std::vector<std::uint32_t> entropy;
  std::vector<double> uniform;
};
struct RangeCase {
  std::int64_t low, high;
  std::vector<std::int64_t> first;
  std::uint64_t next_hash;  // of the thousand after them
};
struct TailCase {
  std::uint64_t seed;
  double first;
};
struct Point {
  double x, y;
};

// clang-format off
inline const SeedCase kSeeds[] = {
    {0u,
     {0x1.461fd79fb3850p-1, 0x1.1442f7e20b674p-2, 0x1.4fa7b529d9bd0p-5, 0x1.0ec9ed84d0bc0p-6},
     {0x1.017ed89db8441p-3, -0x1.0e8cfe9bd45ccp-3, 0x1.47e57a468b06dp-1, 0x1.adabbec84d4f0p-4},
     0xaf13b20ac210df97,
     0x34263581aeed4943,
     0xf7ebbd41f2326193},
    {1u,
     {0x1.060d7be6f245cp-1, 0x1.e6a32d7782a55p-1, 0x1.273d27b04760cp-3, 0x1.e5b5615da558dp-1},
     {0x1.61e0d28bbb3a1p-2, 0x1.a4ab22204681fp-1, 0x1.525e18ce5fc0ap-2, -0x1.4d9bb65b49607p+0},
     0x33e31af73efea1a3,
     0xd162458c9a73046b,
     0x27333b2a490e8129},
    {42u,
     {0x1.8c43f79a2db24p-1, 0x1.c16959869e47ep-2, 0x1.b79a2584ddb42p-1, 0x1.650d6c1c2c011p-1},
     {0x1.3807c1104fc6bp-2, -0x1.0a3c65fca9a7ep+0, 0x1.803b239e77350p-1, 0x1.e191b2d157f36p-1},
     0xb6b4cb0a4ee44842,
     0xfb0cae997b963804,
     0x0fc88430cbbf56cf},
    {12345u,
     {0x1.d1958c6d97fe0p-3, 0x1.445c4c5727930p-2, 0x1.984049046889dp-1, 0x1.5a3e0d5d490ddp-1},
     {-0x1.6c7fcc2ecc744p+0, 0x1.4383b54eb0649p+0, -0x1.bdc76014d359ep-1, -0x1.0964b5602ac3cp-2},
     0x100e36eb660b21e5,
     0x26d6191308ceb2a4,
     0x9b63d240afecdcf9},
    {4294967296u,
     {0x1.c78bd7c50b582p-1, 0x1.1d4132d1fc63bp-1, 0x1.9a109ff09b1bdp-1, 0x1.e9bc2dd875173p-1},
     {0x1.a5c170234e89ep-4, -0x1.f607a848d4287p-1, -0x1.a28c84dd75dedp-1, -0x1.0723442d6170dp+0},
     0xf9ca9226b68c2048,
     0xa78bb9fd5c47e597,
     0xe80f85b348e756f9},
    {9223372036854775813u,
     {0x1.ebc23a2747c50p-2, 0x1.ceefd01860385p-1, 0x1.4890eaeaa8a18p-1, 0x1.ff03de92fa2c0p-5},
     {-0x1.2f66952a564c9p+0, -0x1.0e036f6ebf4e2p-1, -0x1.15a394ea32745p-2, -0x1.5f27babd84dccp-1},
     0xa12ff187482786a0,
     0xe0a2df75d04712e6,
     0x58083b68ec7c4acb},
    {18446744073709551615u,
     {0x1.5c2c74f5188eap-1, 0x1.b0ccb3ebe6704p-1, 0x1.e52b195bc2d00p-8, 0x1.ca04d55e33445p-1},
     {0x1.715303191d87bp-1, -0x1.f10c32096a2bdp-1, 0x1.1b8d40660f8bfp-4, -0x1.2fb3a24341b2bp-2},
     0x35730e54d9c6385a,
     0x6539be7ef9b8bdce,
     0xcd7cd5d2f8812487},
};

inline const EntropyCase kEntropies[] = {
    {{0u},
     {0x1.461fd79fb3850p-1, 0x1.1442f7e20b674p-2, 0x1.4fa7b529d9bd0p-5, 0x1.0ec9ed84d0bc0p-6}},
    {{1u, 2u},
     {0x1.cb2d56de92b2ep-2, 0x1.b93920b3c0ee6p-2, 0x1.ae1440745a0c6p-2, 0x1.1bac041c7f7a4p-2}},
    {{1u, 2u, 3u, 4u},
     {0x1.ef3afc907b060p-6, 0x1.e3b7fd1c84100p-1, 0x1.f741ab1b04284p-3, 0x1.02d12564acbb1p-1}},
    {{5u, 4u, 3u, 2u, 1u},
     {0x1.1e5c078c67a7ap-1, 0x1.fdc78ab9574bap-2, 0x1.ec451499a77ccp-2, 0x1.598c9a8c227b4p-1}},
    {{4294967295u, 4294967295u, 4294967295u, 4294967295u, 4294967295u, 4294967295u, 4294967295u, 4294967295u, 4294967295u},
     {0x1.a5f347a897c64p-3, 0x1.7dc1929628ee8p-3, 0x1.6db90906efbf2p-2, 0x1.1622f0a2e561fp-1}},
};

// Seed 42.
inline const RangeCase kRanges[] = {
    {0, 1, {0, 0, 0, 0}, 0x12633b178b17a745},
    {0, 2, {0, 1, 1, 0}, 0xbed73e7376d3d128},
    {-5, 17, {-4, 12, 9, 4}, 0x2dda225d8689e269},
    {0, 3221225472, {2493086937, 2108522448, 1413726408, 2765737489}, 0xe9519a4d093df825},
    {0, 4294967295, {383329927, 3324115916, 2811363264, 1884968544}, 0xcf6c138706a2de77},
    {0, 4294967296, {383329928, 3324115917, 2811363265, 1884968545}, 0xa9c89a8a43899a53},
    {-7, 4294967289, {383329921, 3324115910, 2811363258, 1884968538}, 0xe19e1d1576d6c61b},
    {2147483648, 6442450944, {2530813576, 5471599565, 4958846913, 4032452193}, 0xbf65518b43899a53},
    {0, 4294967297, {3324115917, 1884968546, 3687649987, 2995172878}, 0xdd90cb2b1f83e9bb},
    {-1099511627776, 2199023255552, {1453409396548, 348144215286, 1732603561804, 1200781142594}, 0x13210817c6ef2a5e},
    {5, 6917529027641081856, {4824063583966999350, 651474537759068348, 6748895937462714196, 5265205982608349611}, 0x108c8f0ae70ac600},
    {0, 9223372036854775807, {7138484576005690179, 4047939128787533792, 7919168045412322065, 6432084778622665797}, 0x416abe7589114bd8},
    {kMin, 0, {-2084887460849085628, -5175432908067242016, -1304203991442453742, -2791287258232110010}, 0x286c2d0e5bac57a6},
    {kMin, 9223372036854775807, {5053597115156604551, -1127493779279708224, 6614964053969868323, 3640797520390555788}, 0xa9b79cc708979be9},
    {9223372036854775806, 9223372036854775807, {9223372036854775806, 9223372036854775806, 9223372036854775806, 9223372036854775806}, 0x12633b178b17a745},
};

// Seed 12345.
inline const std::vector<std::int64_t> kPermutations[] = {
    {},
    {0},
    {0, 1},
    {4, 3, 0, 2, 1},
    {4, 8, 1, 3, 7, 9, 6, 0, 2, 5},
};

// Seeds whose very first normal number comes from the tail.
inline const TailCase kTails[] = {
    {1950u, 0x1.2380a29cff10bp+2},
    {755u, -0x1.1878d558cc268p+2},
};

inline const Point kLogs[] = {  // u, log1p(-u)
    {0x0.0p+0, -0x0.0p+0},
    {0x1.0000000000000p-53, -0x1.0000000000000p-53},
    {0x1.0000000000000p-30, -0x1.0000000200000p-30},
    {0x1.fffffe0000000p-30, -0x1.fffffe07fffffp-30},
    {0x1.0000000000000p-29, -0x1.0000000400000p-29},
    {0x1.0624dd2f1aa00p-10, -0x1.064670d979b73p-10},
    {0x1.9999999999998p-4, -0x1.af8e8210a415cp-4},
    {0x1.2bec3fffffffep-2, -0x1.62e4420e1ff0ep-2},
    {0x1.2bec400000000p-2, -0x1.62e4420e1ff10p-2},
    {0x1.999999999999ap-2, -0x1.058aefa811452p-1},
    {0x1.fffff00000000p-2, -0x1.62e41fefa3defp-1},
    {0x1.ffffffffffffep-2, -0x1.62e42fefa39edp-1},
    {0x1.0000000000000p-1, -0x1.62e42fefa39efp-1},
    {0x1.0000080000000p-1, -0x1.62e43fefa3defp-1},
    {0x1.0000100000000p-1, -0x1.62e44fefa49efp-1},
    {0x1.42a9930be0dedp-1, -0x1.fd5580bb3b6e0p-1},
    {0x1.8000040000000p-1, -0x1.62e437efa3befp+0},
    {0x1.8000000000000p-1, -0x1.62e42fefa39efp+0},
    {0x1.ccccccccccccdp-1, -0x1.26bb1bbb55516p+1},
    {0x1.ff7ced916872bp-1, -0x1.ba18a998fff9fp+2},
    {0x1.fffffff800000p-1, -0x1.4cb5ecf0a9650p+4},
    {0x1.ffffffffffffdp-1, -0x1.1d1b02751cfe2p+5},
    {0x1.fffffffffffffp-1, -0x1.25e4f7b2737fap+5},
};

// Of log1p(-u) for 200,000 random u from seed 11 and 3 * 20,001 around the borders.
inline constexpr std::uint64_t kLogsHash = 0x003bd5d43636808d;

inline const Point kExps[] = {  // x, exp(x)
    {0x0.0p+0, 0x1.0000000000000p+0},
    {-0x1.12e0be826d695p-30, 0x1.fffffff768fa1p-1},
    {-0x1.999999999999ap-4, 0x1.cf46d99d52b3ap-1},
    {-0x1.62e33eff19503p-2, 0x1.6a0a3b975afaep-1},
    {-0x1.62e5de15ca6cap-2, 0x1.6a094e536e572p-1},
    {-0x1.0000000000000p+0, 0x1.78b56362cef38p-2},
    {-0x1.4000000000000p+1, 0x1.50385c094f425p-4},
    {-0x1.acccccccccccdp+2, 0x1.42ad1977078cap-10},
    {-0x1.e000000000000p+4, 0x1.a56e0c2ac7f75p-44},
};

inline const std::vector<double> kMixtureReals = {0x1.400c8353e3ca9p-1, 0x1.8d26acbf2815fp-1, -0x1.c7fba74b18102p-1, 0x1.96d73c9b1a8b3p+1, 0x1.86bf1b67fe9dbp+1, 0x1.4473362880552p+1, 0x1.1b6401432a431p-1, 0x1.fdb2369104d64p-1};
inline const std::vector<std::int64_t> kMixtureIntegers = {6, 8, -3, -1, -2, 5789263593, 3, 2, 0, 4, 1, 5, 2053633822, 5, 50};
// clang-format on

}  // namespace qkv::random

#endif  // QKV_TESTS_RANDOM_EXPECTED_H_
