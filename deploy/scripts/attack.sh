#!/usr/bin/env bash
# One address abuses the shop while shoppers at other addresses log in, watch, buy and read their orders. Prints their
# p99 under each kind of abuse, and the p99 while the address sends the same number of GET /api/v1/time. The median
# ratio of the two over three rounds must stay below 3; otherwise the median of nine rounds decides. Then opens as many
# idle sockets as the descriptors allow. Needs an idle machine and takes five minutes. The last line is
# `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/scripts/services.sh run deploy/scripts/go-test.sh --log attack -tags abuse \
  -run '^(TestShoppersAreServedDuringAbuse|TestIdleSocketsDoNotBlockOtherAddresses)$' ./app/test/e2e
