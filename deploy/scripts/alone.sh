# shellcheck shell=bash
# Sourced. The end-to-end tests that need the machine for themselves: deadlines within a second (P5), a crowd that must be
# let in within seconds, and a flood.
# shellcheck disable=SC2034 # used by the scripts that source this file
alone='^(TestTenThousandEqualDeadlines|TestAnOfficeBehindOneAddressGetsIn|TestAnOfficeGetsInDuringAFlood)$'

# How many of the others run at once. They wait for most of the time; five keep two processors busy to four fifths.
# shellcheck disable=SC2034
at_once=5
