// The vector extensions that the emulator's inner loops are compiled for; to be included before any header of
// Highway. Three are worth their code on x86: the compiler's baseline, AVX2 with FMA, and AVX-512. Extensions
// whose vectors have no size at compile time cannot hold the matrix kernel's accumulators in arrays.
#pragma once

#define HWY_DISABLED_TARGETS                                                                                       \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | ZYFA_DISABLED_IF_KNOWN | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   HWY_RVV)
#include <hwy/detect_targets.h>

// Names that came with later versions of Highway.
#if defined(HWY_AVX3_SPR)
#define ZYFA_DISABLED_IF_KNOWN (HWY_AVX3_ZEN4 | HWY_AVX3_SPR)
#elif defined(HWY_AVX3_ZEN4)
#define ZYFA_DISABLED_IF_KNOWN HWY_AVX3_ZEN4
#else
#define ZYFA_DISABLED_IF_KNOWN 0
#endif
