# shellcheck shell=bash
# Sourced. What has to happen within a second (P5), and a flood that must be one, are seen on a machine that does nothing
# else meanwhile.
# shellcheck disable=SC2034 # who sources it uses it
alone='^(TestTenThousandEqualDeadlines|TestAnOfficeGetsInDuringAFlood|TestFloodGetsLittle)$'
