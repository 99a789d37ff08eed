# shellcheck shell=bash
# Sourced. End-to-end tests that need the whole machine: deadlines within a second (P5), a crowd that must get in within
# seconds, and a flood.
# shellcheck disable=SC2034 # used by the scripts that source this file
alone='^(TestUnitsOfEqualDeadlinesReturnInTime|TestBuyersBehindOneAddressBuyInTime|TestBuyersBuyDuringFloodFromTheirAddress)$'

# The number of other end-to-end tests that run at once. They mostly wait: five keep two processors about 80 % busy.
# shellcheck disable=SC2034
at_once=5
