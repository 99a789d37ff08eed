# shellcheck shell=bash
# Sourced. What has to happen within a second (P5), a crowd that has to be in within seconds, and a flood that must be one,
# are seen on a machine that does nothing else meanwhile.
# shellcheck disable=SC2034 # who sources it uses it
alone='^(TestTenThousandEqualDeadlines|TestAnOfficeBehindOneAddressGetsIn|TestAnOfficeGetsInDuringAFlood|TestFloodGetsLittle)$'

# How many of the others are under way at once: they wait for something most of the time. Five keep two processors busy to
# more than four fifths; eight were at a load of 30 on a machine of a third of the speed, and some of them ran out of time.
# shellcheck disable=SC2034
at_once=5
