// The one place that knows where each major version of Catch2 keeps its headers.
#pragma once
#if ZYFA_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
