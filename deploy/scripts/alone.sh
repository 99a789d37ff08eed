# shellcheck shell=bash
# Sourced. serial_tests matches the end-to-end tests that must run one at a time, because they need the whole machine:
# deadlines within a second (P5), a crowd that must buy within seconds, and a flood.
# shellcheck disable=SC2034 # used by the scripts that source this file
serial_tests='^(TestUnitsOfEqualDeadlinesReturnInTime|TestBuyersBehindOneAddressBuyInTime|TestBuyersBuyDuringFloodFromTheirAddress)$'

# at_once is the number of other end-to-end tests that run at once. These tests mostly wait: five of them keep two
# processors about 80 % busy.
# shellcheck disable=SC2034
at_once=5
