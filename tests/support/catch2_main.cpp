// Catch2 v2 has no ready-made main; compiled once for all test groups.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
